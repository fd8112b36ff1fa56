"""Machine: one event, beside a table by hand and the libraries for state machines.

All run the rows of the stream chart that a chunk of text and a thought take, with empty actions
and guards.  The floor is a dictionary and a loop, as one would write it for speed.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.contestants import Answer, Notes, Worker, field, interleave
from benchmarks.figures import ratio, short
from benchmarks.suites import FULL, Scale

PEERS = ("transitions", "python-statemachine", "sismic", "xstate")
EVENTS = {"text": ["text"], "thought": ["think_opened", "think_closed"]}
#: Rounds of events in one measurement; the libraries are slower.
COUNTS = {"minamo": 20_000, "floor": 20_000, "transitions": 2_000, "xstate": 2_000}
FEW = 150


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return nanoseconds per event of each contestant, without and with an observer."""
    notes: Notes = {}
    with field(scale.names(*PEERS), notes) as workers:
        found = {}
        for name, events in EVENTS.items():
            for observers in (0, 1):
                key = f"{name}, observed" if observers else name
                found[key] = _events(events, observers, scale, workers, notes)
        made = _instances(scale, workers)
    return {"events": found, "us_per_instance": made, "notes": notes}


def _events(
    events: list[str], observers: int, scale: Scale, workers: dict[str, Worker], notes: Notes
) -> dict[str, Any]:
    def call(name: str) -> Answer:
        count = scale.many(COUNTS.get(name, FEW), least=20)
        given: dict[str, Any] = {"events": events, "count": count, "observers": observers}
        return workers[name].call("step", **given, peer=name)

    answers = interleave(workers, scale.rounds, call, notes, budget_s=7)
    took = {name: [one.result for one in given] for name, given in answers.items()}
    return {
        name: {
            "ns_per_event": short(statistics.median(seconds) * 1e9),
            "to_floor": ratio(seconds, took["floor"]),
            "to_minamo": ratio(seconds, took["minamo"]),
        }
        for name, seconds in took.items()
    }


def _instances(scale: Scale, workers: dict[str, Worker]) -> dict[str, float]:
    """Return the microseconds to make a machine."""
    found = {}
    for name, worker in workers.items():
        if name != "floor":
            count = scale.many(2_000 if name == "minamo" else 20, least=5)
            took = [worker.call("instances", count=count, peer=name).result for _ in range(3)]
            found[name] = short(min(took) * 1e6)
    return found
