"""Concurrency: many replies at once in one process.

Over sockets, as fast as the provider writes: chunks per second, how long the event loop is held,
and how much memory grows.  And in real time: a thousand streams of 20 chunks per second.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import inputs
from benchmarks.contestants import Answer, Notes, Worker, field, interleave
from benchmarks.figures import quantile, ratio, short
from benchmarks.sse_server import serving
from benchmarks.suites import FULL, Scale

PEERS = ("openai", "litellm", "ai")
STREAMS = (1, 10, 100)
CHUNKS = 200
RATE = 20


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return throughput, delays and memory."""
    notes: Notes = {}
    said = inputs.words(scale.many(CHUNKS, least=20))
    with (
        serving({"openai": inputs.frames("openai", said)}) as url,
        field(scale.names(*PEERS), notes) as workers,
    ):
        streams = [count for count in STREAMS if scale.size > 0.05 or count <= 10]
        sockets = {str(count): _many(count, url, said, scale, workers, notes) for count in streams}
        ours = workers["minamo"]
        load = {
            str(count): _load(ours, count, max(0.2, 5.0 * scale.size), min(3, scale.rounds))
            for count in (scale.many(400, least=20), scale.many(1_000, least=50))
        }
        idle = ours.call("idle", streams=scale.many(1_000, least=50)).result
    return {"chunks": len(said), "sockets": sockets, "rate": RATE, "load": load,
            "idle_bytes": round(idle), "notes": notes}  # fmt: skip


def _many(
    streams: int, url: str, said: list[str], scale: Scale, workers: dict[str, Worker], notes: Notes
) -> dict[str, Any]:
    given: dict[str, Any] = {
        "url": url, "path": inputs.PATHS["openai"], "dialect": "openai", "streams": streams
    }  # fmt: skip

    def read(name: str) -> Answer:
        return workers[name].call("concurrent", **given, peer=name)

    rounds = max(2, scale.rounds // 3)
    answers = interleave(workers, rounds, read, notes, budget_s=12)
    took = {name: [one.wall_s for one in given] for name, given in answers.items()}
    text = "".join(said)
    return {
        name: {
            "chunks_per_s": round(streams * len(said) / statistics.median(seconds)),
            "time_to_minamo": ratio(seconds, took["minamo"]),
            "loop_held_p99_ms": short(quantile(_late(answers[name]), 0.99) * 1000),
            "grown_kib_per_stream": round(
                max(one.result["grown_bytes"] for one in answers[name]) / 1024 / streams
            ),
            "text_is_whole": all(
                [one.strip() for one in answer.result["texts"]] == [text.strip()]
                for answer in answers[name]
            ),
        }
        for name, seconds in took.items()
    }


def _late(answers: list[Answer]) -> list[float]:
    return [late for answer in answers for late in answer.result["late_s"]] or [0.0]


def _load(worker: Worker, streams: int, seconds: float, rounds: int) -> dict[str, float]:
    """Return the median of the rounds: a machine that is shared has bad moments of its own."""
    given: dict[str, Any] = {"streams": streams, "seconds": seconds, "rate": RATE}
    runs = [worker.call("load", **given).result for _ in range(rounds)]
    run = sorted(runs, key=lambda one: quantile(one["late_s"], 0.99))[rounds // 2]
    return {
        "p50_ms": short(quantile(run["late_s"], 0.5) * 1000),
        "p99_ms": short(quantile(run["late_s"], 0.99) * 1000),
        "core_percent": round(run["core"] * 100),
    }
