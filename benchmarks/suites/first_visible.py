"""First visible: replies in real time into a local Discord with its rate limits.

The channel takes five messages and five edits in five seconds, and every call takes 120 ms.  All
contestants write the same reply at the same time, each into a channel of its own.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

from benchmarks import inputs, judge
from benchmarks.contestants import PEERS as ALL
from benchmarks.contestants import Failed, Notes, Worker, field
from benchmarks.figures import short
from benchmarks.suites import FULL, Scale
from minamo.twin import Faults, Twin
from minamo.twin.journal import RequestEntry

WAYS = {
    "minamo": ("minamo live", {}),
    "minamo, editing": ("minamo live", {"edit": True}),
    "hermes-agent": ("hermes-agent", {}),
    "chat": ("chat", {}),
}
RATES = (20, 60, 150)
LATENCY_S = 0.12
LEAD_S = 0.5
"""Time between the last connection and the first token."""


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return what each channel saw: when, how stale, in how many calls, and whether whole."""
    notes: Notes = {}
    reply = inputs.reply(scale.many(2_600, least=100))
    rates = RATES if scale.size > 0.05 else (150,)
    ways = {way: how for way, how in WAYS.items() if scale.peers or how[0].startswith("minamo")}
    found = asyncio.run(_run(reply, rates, ways, notes))
    return {"characters": len(reply["text"]), "latency_s": LATENCY_S, "rates": found,
            "notes": notes}  # fmt: skip


async def _run(
    reply: dict[str, Any], rates: tuple[int, ...], ways: dict[str, Any], notes: Notes
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with Twin(faults=Faults(latency_s=LATENCY_S)) as twin:
        for rate in rates:
            found[str(rate)] = await _rate(twin, reply, rate, ways, notes)
    return found


async def _rate(
    twin: Twin, reply: dict[str, Any], rate: int, ways: dict[str, Any], notes: Notes
) -> dict[str, Any]:
    channels = {way: twin.channel(f"{way} {rate}") for way in ways}
    places = {
        way: {"url": twin.url, "token": twin.token, "channel": str(channel.id),
              "guild": str(twin.guild.id)}
        for way, channel in channels.items()
    }  # fmt: skip
    with field(_programs(ways), notes) as found:
        workers = {name.partition("#")[2]: worker for name, worker in found.items()}
        for way, worker in workers.items():
            await _ask(worker, "connect", place=places[way])
        begin = time.time() + LEAD_S

        async def write(way: str, worker: Worker) -> None:
            given = {"text": reply["text"], "rate": rate, "begin": begin, "options": ways[way][1]}
            try:
                await _ask(worker, "live", place=places[way], **given)
            except Failed as error:
                notes[f"{way} ({rate} tokens/s) failed"] = str(error)

        await asyncio.gather(*(write(*item) for item in workers.items()))
    return {way: _judged(twin, channels[way].id, reply, rate, begin) for way in workers}


async def _ask(worker: Worker, task: str, **given: Any) -> None:
    """Run a task while the local Discord goes on in this process."""
    worker.start(task, **given)
    await asyncio.to_thread(worker.finish)


def _programs(ways: dict[str, Any]) -> list[str]:
    """Return a contestant for each way, in a process of its own."""
    names = []
    for way, (program, _) in ways.items():
        ALL[f"{program}#{way}"] = ALL[program]
        names.append(f"{program}#{way}")
    return names


def _judged(
    twin: Twin, channel: int, reply: dict[str, Any], rate: int, begin: float
) -> dict[str, Any]:
    calls = [
        entry
        for entry in twin.journal.requests_made
        if entry.channel == channel and entry.method in ("POST", "PATCH", "DELETE")
        and "/messages" in entry.route
    ]  # fmt: skip
    shown = _timeline(calls, reply)
    marks = len(reply["shown"])
    done = [at for at, seen, began in shown if began]
    messages = [message.content for message in twin.messages(twin.world.channels[channel])]
    end = begin + len(reply["text"]) / 4 / rate
    return {
        "first_visible_ms": round((done[0] - begin) * 1000) if done else None,
        "behind_s": short(_behind(shown, reply, rate, begin)),
        "after_the_end_s": short(max(0.0, shown[-1][0] - end)) if shown else None,
        "calls": len(calls),
        "refused_429": sum(entry.status == 429 for entry in calls),
        "bytes_to_reply": short(
            sum(len((entry.body or {}).get("content") or "") for entry in calls)
            / len(reply["text"])
        ),
        "messages": len(messages),
        "marks": marks,
        "lost": judge.lost(messages, reply["shown"]),
        "thoughts_shown": judge.shown(messages, reply["hidden"]),
        "broken_code_blocks": judge.broken_fences(messages),
    }


def _timeline(calls: list[RequestEntry], reply: dict[str, Any]) -> list[tuple[float, int, bool]]:
    """Return after each call how many marks the channel had shown, and whether the first word."""
    texts: dict[str, str] = {}
    timeline = []
    for entry in sorted(calls, key=lambda entry: entry.at + (entry.took_s or 0.0)):
        if entry.status is None or entry.status >= 300:
            continue
        if entry.method == "POST":
            texts[str((entry.answer or {}).get("id", len(texts)))] = entry.body.get("content") or ""
        elif entry.method == "PATCH":
            texts[entry.params["message"]] = entry.body.get("content") or ""
        else:
            texts.pop(entry.params["message"], None)
        text = "\n".join(texts.values())
        seen = sum(mark in text for mark in reply["shown"])
        timeline.append((entry.at + (entry.took_s or 0.0), seen, reply["first"] in text))
    return timeline


def _behind(
    shown: list[tuple[float, int, bool]], reply: dict[str, Any], rate: int, begin: float
) -> float:
    """Return how many seconds a mark is visible after it was written, on average.

    A mark that is never shown counts as shown never: the reply's whole duration.
    """
    waits: list[float] = []
    duration = len(reply["text"]) / 4 / rate
    for number, mark in enumerate(reply["shown"]):
        written = begin + math.ceil((reply["text"].index(mark) + len(mark)) / 4) / rate
        seen = next((at for at, count, _ in shown if count > number), written + duration)
        waits.append(max(0.0, seen - written))
    return sum(waits) / len(waits)
