"""Measure delivery: messages through a lane beside bare `rest.create_message`, on one twin.

Both use one client with kept connections, real sockets, and no rate limits, so that what counts
is the work done for a message.  Rounds alternate in one process, which the twin shares.
Messages per second are of a hundred in order to one channel: a loop of calls, or one burst into
a lane.  The latencies are of one message after the other, each awaited.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from typing import Any

import hikari

from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.discord.bot import BotSender
from minamo.twin import Rules, Twin

ROUNDS = 10
MESSAGES = 100  # a round of one contestant


async def _bare(rest: hikari.api.RESTClient, place: int) -> list[float]:
    took = []
    for number in range(MESSAGES):
        begin = time.perf_counter()
        await rest.create_message(place, f"message {number}")
        took.append(time.perf_counter() - begin)
    return took


async def _ours(lanes: Lanes, sender: BotSender, stream_id: str) -> list[float]:
    took, source = [], TextQueue()
    async with lanes.open(sender.place, sender, source, stream_id=stream_id) as one:
        for number in range(MESSAGES):
            begin = time.perf_counter()
            source.put(f"message {number}")
            one.deliver()
            await one.answered()
            took.append(time.perf_counter() - begin)
    assert all(receipt.delivered for receipt in one.receipts)
    return took


async def _burst(lanes: Lanes, sender: BotSender, stream_id: str) -> float:
    source = TextQueue([f"message {number}" for number in range(MESSAGES)])
    begin = time.perf_counter()
    async with lanes.open(sender.place, sender, source, stream_id=stream_id) as one:
        one.deliver()
        receipts = await one.finish()
    assert sum(receipt.delivered for receipt in receipts) == MESSAGES
    return time.perf_counter() - begin


def _figures(took: list[float], rounds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(took, n=100)
    return {
        "messages_per_s": round(MESSAGES / statistics.median(rounds), 1),
        "p50_ms": round(cuts[49] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
    }


async def _measure() -> dict[str, Any]:
    at_once = RateLimit(1_000_000, 1e-6)
    pacer = Pacer(dict.fromkeys(PACES, (at_once,)), at_once)
    settings = hikari.impl.HTTPSettings(force_close_transports=False)
    took: dict[str, list[float]] = {"bare": [], "minamo": []}
    rounds: dict[str, list[float]] = {"bare": [], "minamo": []}
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        app = hikari.RESTApp(url=twin.url, http_settings=settings)
        await app.start()
        place = twin.channel().id
        async with (
            app.acquire(twin.token, hikari.TokenType.BOT) as rest,
            open_lanes(pacer=pacer) as lanes,
        ):
            sender = BotSender(rest, place)
            await rest.create_message(place, "warm")
            for number in range(ROUNDS):
                bare = await _bare(rest, place)
                ours = await _ours(lanes, sender, f"round {number}")
                took["bare"] += bare
                took["minamo"] += ours
                rounds["bare"].append(sum(bare))
                rounds["minamo"].append(await _burst(lanes, sender, f"burst {number}"))
        await app.close()
    # Neighbours in time are compared, so that what else the computer does is in both.
    pairs = zip(rounds["bare"], rounds["minamo"], strict=True)
    ratio = statistics.median(bare / ours for bare, ours in pairs)
    found = {name: _figures(took[name], rounds[name]) for name in took}
    return {**found, "ratio": round(ratio, 3)}


def measure() -> dict[str, Any]:
    """Every figure, from one run."""
    return asyncio.run(_measure())


def main(*, as_json: bool = False) -> int:
    """Measure and print."""
    found = measure()
    if as_json:
        print(json.dumps(found))
        return 0
    print(f"in order to one channel, median of {ROUNDS} interleaved rounds of {MESSAGES}")
    for name in ("bare", "minamo"):
        one = found[name]
        print(
            f"  {name:<8} {one['messages_per_s']:>8,.0f} messages/s"
            f"   p50 {one['p50_ms']:.2f} ms   p99 {one['p99_ms']:.2f} ms"
        )
    print(f"  minamo is {found['ratio']:.2f} x bare hikari")
    return 0
