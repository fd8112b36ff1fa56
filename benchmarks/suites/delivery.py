"""Delivery: messages to Discord through a lane, beside bare `rest.create_message` of hikari.

Both use one client with kept connections, real sockets and a local Discord without rate limits,
so that what counts is the work done for a message.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

from benchmarks.contestants import Notes, field
from benchmarks.figures import ratio
from benchmarks.suites import FULL, Scale
from minamo.twin import Rules, Twin


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return messages per second of both, and their ratio."""
    return asyncio.run(_measure(scale))


async def _measure(scale: Scale) -> dict[str, Any]:
    notes: Notes = {}
    count = scale.many(100, least=10)
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        place = {"url": twin.url, "token": twin.token, "channel": str(twin.channel().id)}
        with field(["minamo live"], notes) as workers:
            given = {"place": place, "count": count, "rounds": scale.rounds}
            worker = workers["minamo live"]
            worker.start("messages", **given)
            took = (await asyncio.to_thread(worker.finish)).result
    rates = {name: round(count / statistics.median(rounds)) for name, rounds in took.items()}
    return {"messages_per_s": rates, "minamo_to_hikari": ratio(took["hikari"], took["minamo"]),
            "notes": notes}  # fmt: skip
