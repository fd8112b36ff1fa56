"""Pipeline: CPU time from a chunk of text to Discord messages, without a network.

Not all peers do as much: the judge says beside each what a channel would show of the reply.  The
floor collects the text and cuts it every 2,000 characters.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import inputs, judge
from benchmarks.contestants import Answer, Notes, Worker, field, interleave
from benchmarks.figures import ratio, short
from benchmarks.suites import FULL, Scale

PEERS = ("hermes-agent", "nanobot", "chat", "remend")
#: Ways through minamo: the core with a lane that is idle or behind, and the whole driver.
WAYS = {"minamo": "pipeline", "minamo, driver": "driven", "minamo, busy channel": "behind"}
SIZES = (4, 24)
#: A loop over the characters, by which runs on different machines are compared.
YARDSTICK = "yardstick"


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return CPU per chunk of each contestant, and what it loses."""
    notes: Notes = {}
    reply = inputs.reply(scale.many(8_000, least=1_500))
    prose = "".join(inputs.shape("prose", scale.many(2_000, least=100)))
    with field(scale.names(*PEERS), notes) as workers:
        mixed = {str(size): _mixed(reply, size, scale, workers, notes) for size in SIZES}
        driver = {str(size): _driver(prose, size, scale, workers["minamo"]) for size in SIZES}
    return {
        "characters": len(reply["text"]),
        "chunk": mixed,
        "driver_us_per_chunk_of_prose": driver,
        "notes": notes,
    }


def _mixed(
    reply: dict[str, Any], size: int, scale: Scale, workers: dict[str, Worker], notes: Notes
) -> dict[str, Any]:
    chunks = inputs.cut(reply["text"], size)

    def call(name: str) -> Answer:
        if name == YARDSTICK:
            return workers["floor"].call("yardstick", chunks=chunks)
        if name in WAYS:
            return workers["minamo"].call(WAYS[name], chunks=chunks)
        return workers[name].call("pipeline", chunks=chunks, peer=name)

    names = [*WAYS, YARDSTICK, *(name for name in workers if name != "minamo")]
    answers = interleave(names, scale.rounds, call, notes, budget_s=20)
    took = {name: [one.cpu_s for one in given] for name, given in answers.items()}
    yardstick = took.pop(YARDSTICK)
    return {
        name: {
            "us_per_chunk": short(statistics.median(seconds) / len(chunks) * 1e6),
            "to_minamo": ratio(seconds, took["minamo"]),
            "to_yardstick": ratio(seconds, yardstick),
            **_judged(answers[name][0].result, reply),
        }
        for name, seconds in took.items()
    }


def _judged(messages: list[str], reply: dict[str, Any]) -> dict[str, int]:
    return {
        "messages": len(messages),
        "marks": len(reply["shown"]),
        "lost": judge.lost(messages, reply["shown"]),
        "thoughts_shown": judge.shown(messages, reply["hidden"]),
        "too_long": judge.too_long(messages),
        "broken_code_blocks": judge.broken_fences(messages),
        "raw_tables": judge.raw_tables(messages),
    }


def _driver(prose: str, size: int, scale: Scale, worker: Worker) -> float:
    """Return the best of the rounds: other work on the machine can only make it look slower."""
    chunks = inputs.cut(prose, size)
    took = [worker.call("driven", chunks=chunks).cpu_s for _ in range(scale.rounds)]
    return short(min(took) / len(chunks) * 1e6)
