"""Measure the machine: one event, beside a table by hand and two statechart libraries.

All contestants run the stream chart with the same (empty) actions and guards, interleaved in
one process: a round of each in turn, many times over, and the median is what counts.
"""

from __future__ import annotations

import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from minamo.machine import Machine, compile, load
from minamo.machine.compiler import declare

CHART = load("stream")
ROUNDS = 15
PACE_S = 0.02  # how long one round of one contestant takes


def _nothing(self: object, payload: object = None) -> None:
    pass


def _no(self: object, payload: object = None) -> bool:
    return False


def _yes(self: object, payload: object = None) -> bool:
    return True


_MEMBERS: dict[str, Any] = dict.fromkeys(CHART.actions, _nothing)
_MEMBERS |= dict.fromkeys(CHART.guards, _no)
_MEMBERS["outermost"] = _yes
Actions: Any = type("Actions", (), _MEMBERS)
TABLE = compile(CHART, Actions)

A = Actions
# By hand, as one would write it for speed: the rows this measurement drives, nothing else.
BY_HAND: dict[tuple[str, str], tuple[tuple[Any, tuple[Any, ...], str | None], ...]] = {
    ("opening", "text"): ((None, (A.take_text,), "streaming"),),
    ("streaming", "text"): ((None, (A.take_text,), None),),
    ("streaming", "think_opened"): ((None, (A.hand_complete, A.open_thought), "in_think"),),
    ("in_think", "think_closed"): (
        (A.outermost, (A.close_thought,), "streaming"),
        (None, (A.unnest_thought,), None),
    ),
}
AT_ONCE: dict[str, tuple[tuple[Any, tuple[Any, ...], str], ...]] = {
    "streaming": ((A.segment_ready, (A.hand_over,), "handing"),),
}


class ByHand:
    """A dictionary, a loop and a string."""

    __slots__ = ("actions", "state")

    def __init__(self, actions: Any) -> None:
        self.actions = actions
        self.state = "opening"

    def send(self, event: str, payload: object = None) -> None:
        actions = self.actions
        for guard, acts, target in BY_HAND.get((self.state, event), ()):
            if guard is None or guard(actions, payload):
                for act in acts:
                    act(actions, payload)
                if target is not None:
                    self.state = target
                break
        for guard, acts, target in AT_ONCE.get(self.state, ()):
            if guard is None or guard(actions, None):
                for act in acts:
                    act(actions, None)
                self.state = target
                break


def _library() -> Any:
    members = {name: (lambda self: None) for name in CHART.actions}
    members |= {name: (lambda self: False) for name in CHART.guards}
    members["outermost"] = lambda self: True
    return declare(CHART)(model=type("Model", (), members)())


def _transitions() -> Any:
    try:
        from transitions import Machine as Flat
    except ImportError:
        return None

    class Model(Actions):  # type: ignore[misc]
        state: str
        trigger: Callable[..., bool]

        def send(self, event: str, payload: object = None) -> None:
            self.trigger(event, payload)

    model = Model()
    flat = Flat(model, states=["opening", "streaming", "in_think", "handing"], initial="opening",
                auto_transitions=False)  # fmt: skip
    flat.add_transition("text", "opening", "streaming", before="take_text")
    flat.add_transition("text", "streaming", None, before="take_text", after="segment_ready")
    flat.add_transition(
        "think_opened", "streaming", "in_think", before=["hand_complete", "open_thought"]
    )
    flat.add_transition(
        "think_closed", "in_think", "streaming", conditions="outermost", before="close_thought"
    )
    return model


def _rate(send: Callable[..., object], events: list[str]) -> Callable[[], float]:
    """A function that measures one round and returns nanoseconds per event."""
    count = 1

    def measure() -> float:
        nonlocal count
        while True:
            begin = time.perf_counter()
            for _ in range(count):
                for event in events:
                    send(event)
            took = time.perf_counter() - begin
            if took >= PACE_S / 2:
                return took / (count * len(events)) * 1e9
            count = max(count + 1, int(count * PACE_S / max(took, 1e-6)))

    return measure


def _events(events: list[str]) -> dict[str, float]:
    contestants: dict[str, Any] = {
        "dict": ByHand(Actions()),
        "minamo": Machine(TABLE, Actions()),
        "python-statemachine": _library(),
        "transitions": _transitions(),
    }
    rounds = {}
    for name, machine in contestants.items():
        if machine is not None:
            machine.send("text")
            rounds[name] = _rate(machine.send, events)
    figures: dict[str, list[float]] = {name: [] for name in rounds}
    for _ in range(ROUNDS):
        for name, measure in rounds.items():
            figures[name].append(measure())
    return {name: round(statistics.median(found), 1) for name, found in figures.items()}


def _creation() -> tuple[float, float]:
    actions = Actions()
    count = 2_000
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        kept = [Machine(TABLE, actions) for _ in range(count)]
        times.append((time.perf_counter() - begin) / count * 1e9)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [Machine(TABLE, actions) for _ in range(count)]
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return round(statistics.median(times), 1), round(grown / len(kept), 1)


def measure() -> dict[str, Any]:
    """Every figure, from one run."""
    ns_per_machine, bytes_per_machine = _creation()
    return {
        "ns_per_event": _events(["text"]),
        "ns_per_transition": _events(["think_opened", "think_closed"]),
        "ns_per_machine": ns_per_machine,
        "bytes_per_machine": bytes_per_machine,
    }


def main(*, as_json: bool = False) -> int:
    """Measure and print."""
    found = measure()
    if as_json:
        print(json.dumps(found))
        return 0
    print(f"stream chart, empty actions, median of {ROUNDS} interleaved rounds")
    for title, key in (
        ("text in streaming", "ns_per_event"),
        ("into a thought and back", "ns_per_transition"),
    ):
        print(f"\n{title}")
        for name, value in found[key].items():
            ratio = value / found[key]["minamo"]
            print(f"  {name:<20} {value:>12,.0f} ns per event   {ratio:>7.2f} x minamo")
    took, size = found["ns_per_machine"], found["bytes_per_machine"]
    print(f"\na new machine: {took:,.0f} ns, {size:.0f} bytes")
    return 0
