"""Growth: how the time for a reply grows with its length, for replies of one shape.

A slope of 1 is linear, 2 quadratic; it is that of the four longest replies, because short ones
cost less per chunk.  A contestant is not asked for a length that would take it over two seconds
and a half.  The lengths take turns, so that a slow minute of the machine does not fall on one.
"""

from __future__ import annotations

import math
from typing import Any

from benchmarks import inputs
from benchmarks.contestants import Failed, Notes, Worker, field
from benchmarks.figures import short, slope
from benchmarks.suites import FULL, Scale

PEERS = ("hermes-agent", "nanobot", "chat", "remend")
CHUNKS = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
WAYS = {"minamo": "pipeline", "minamo, busy channel": "behind", "minamo, editing": "edited"}
LONGEST_S = 2.5
# The slopes of the peers are far from 1, and three rounds show it.
ROUNDS, PEER_ROUNDS = 8, 3
# Below it a time says more about the clock and the start than about the text.
_LEAST_S = 0.002
_COUNTED = 4


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return seconds for each length, and the slope, of each contestant and shape."""
    notes: Notes = {}
    lengths = [scale.many(count, least=50) for count in CHUNKS]
    with field(scale.names(*PEERS)[:1] + scale.names(*PEERS)[2:], notes) as workers:
        shapes = {
            shape: _shape(shape, sorted(set(lengths)), min(ROUNDS, scale.rounds), workers, notes)
            for shape in inputs.SHAPES
        }
    return {"chunks": lengths, "shapes": shapes, "notes": notes}


def _shape(
    shape: str, lengths: list[int], rounds: int, workers: dict[str, Worker], notes: Notes
) -> dict[str, Any]:
    ways = {way: (workers["minamo"], task) for way, task in WAYS.items()}
    ways |= {name: (worker, "pipeline") for name, worker in workers.items() if name != "minamo"}
    points: dict[str, dict[int, float]] = {way: {} for way in ways}
    texts = {length: inputs.shape(shape, length) for length in lengths}
    for number in range(rounds):
        for length, chunks in texts.items():
            for way, found in points.items():
                is_over = number >= PEER_ROUNDS and way not in WAYS
                if is_over or _expected(found, length) > LONGEST_S:
                    continue
                took = _time(way, *ways[way], chunks, notes)
                if took is not None:
                    found[length] = min(found.get(length, took), took)
    return {way: _figures(sorted(found.items())) for way, found in points.items() if found}


def _time(way: str, worker: Worker, task: str, chunks: list[str], notes: Notes) -> float | None:
    given: dict[str, Any] = {"peer": worker.name} if task == "pipeline" else {}
    try:
        return worker.call(task, chunks=chunks, **given).cpu_s
    except Failed as error:
        notes[way] = str(error)
        return None


def _expected(points: dict[int, float], length: int) -> float:
    """Return how long a length would take, as the two lengths before it grew."""
    shorter = sorted(known for known in points if known < length)[-2:]
    if len(shorter) < 2:
        return 0.0
    before, last = shorter
    first, took = points[before], points[last]
    steepness = max(1.0, math.log(took / first) / math.log(last / before)) if first else 1.0
    return took * math.pow(length / last, steepness)


def _figures(points: list[tuple[int, float]]) -> dict[str, Any]:
    counted = [(length, took) for length, took in points if took >= _LEAST_S][-_COUNTED:]
    return {
        "seconds": [[length, short(took)] for length, took in points],
        "slope": slope(counted) if len(counted) > 2 else None,
    }
