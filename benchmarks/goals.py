"""The goals of the project, and whether a run meets them: what `make bench` must show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Run = dict[str, Any]


class Goal(NamedTuple):
    """A goal and what a run found."""

    what: str
    limit: str
    found: str
    is_met: bool


def goals(run: Run) -> list[Goal]:
    """Return the goals of the benchmarks that the run has."""
    found = run["benchmarks"]
    return [goal for name, check in _CHECKS.items() if name in found for goal in check(found[name])]


def _most(what: str, limit: float, values: Iterable[float | None], unit: str = "") -> Goal:
    known = [value for value in values if value is not None]
    worst = max(known, default=float("nan"))
    return Goal(what, f"at most {limit:g}{unit}", f"{worst:.3g}{unit}", worst <= limit)


def _least(what: str, limit: float, values: Iterable[float], unit: str = "") -> Goal:
    worst = min(values, default=float("nan"))
    return Goal(what, f"at least {limit:g}{unit}", f"{worst:.3g}{unit}", worst >= limit)


def _none(what: str, count: int) -> Goal:
    return Goal(what, "0", str(count), count == 0)


def _ingest(found: Run) -> Iterator[Goal]:
    dialects = found["dialects"].values()
    yield _most("ingest, in every dialect, to by hand", 1.25,
                (one["minamo"]["to_floor"]["ratio"] for one in dialects), "×")  # fmt: skip
    sdks = [
        peer["to_minamo"]["ratio"]
        for one in dialects
        for name, peer in one.items()
        if name not in ("minamo", "floor", "httpx-sse")
    ]
    if sdks:
        yield _least("ingest, CPU of every SDK, to minamo", 8, sdks, "×")


_FAULTS = ("lost", "thoughts_shown", "too_long", "broken_code_blocks", "raw_tables")


def _pipeline(found: Run) -> Iterator[Goal]:
    equals = [
        peer["to_minamo"]["ratio"]
        for contestants in found["chunk"].values()
        for name, peer in contestants.items()
        if not name.startswith("minamo") and not any(peer[fault] for fault in _FAULTS)
    ]
    what = "pipeline, CPU of every peer without a fault, to minamo"
    none = Goal(what, "at least 1×", "no such peer", is_met=True)
    yield _least(what, 1, equals, "×") if equals else none
    driver = found["driver_us_per_chunk_of_prose"]
    yield _most("a chunk of 4 characters through the driver", 10, [driver["4"]], " µs")
    yield _most("a chunk of 24 characters through the driver", 20, [driver["24"]], " µs")


def _growth(found: Run) -> Iterator[Goal]:
    ours = [
        one["slope"]
        for ways in found["shapes"].values()
        for way, one in ways.items()
        if way.startswith("minamo")
    ]
    yield _most("growth, slope in every shape and mode", 1.05, ours)


def _concurrency(found: Run) -> Iterator[Goal]:
    streams, one = list(found["load"].items())[-1]
    yield _most(f"{int(streams):,} streams of {found['rate']} chunks per second: late, p99", 25,
                [one["p99_ms"]], " ms")  # fmt: skip
    yield _most("memory of a waiting stream", 16, [found["idle_bytes"] / 1024], " KiB")


def _first_visible(found: Run) -> Iterator[Goal]:
    ours = "minamo, editing"
    earlier, fewer = True, True
    for ways in found["rates"].values():
        peers = [one for way, one in ways.items() if not way.startswith("minamo")]
        first = ways[ours]["first_visible_ms"]
        earlier &= all(first <= (one["first_visible_ms"] or first) for one in peers)
        # A peer whose text is further behind may well make fewer calls.
        fresh = [one for one in peers if one["behind_s"] <= ways[ours]["behind_s"]]
        fewer &= all(ways[ours]["calls"] <= one["calls"] for one in fresh)
    words = {True: "yes", False: "no"}
    yield Goal("first character before every peer's", "yes", words[earlier], earlier)
    yield Goal("fewer calls than peers as fresh", "yes", words[fewer], fewer)
    limited = sum(
        one["refused_429"]
        for ways in found["rates"].values()
        for way, one in ways.items()
        if way.startswith("minamo")
    )
    yield _none("429 of minamo", limited)


def _stops(found: Run) -> Iterator[Goal]:
    yield _most("a stop in every state, p99", 50, [found["worst_p99_ms"]], " ms")
    late = sum(state["sends_begun_after"] for state in found["states"].values())
    yield _none("sends begun after a reply was withdrawn", late)


def _machine(found: Run) -> Iterator[Goal]:
    # To the floor, which took turns with each: the two were not measured in the same minute.
    events = {name: one["minamo"]["to_floor"]["ratio"] for name, one in found["events"].items()}
    plain = [name for name in events if "observed" not in name]
    yield _most("an event, to a dict table", 1.5, (events[name] for name in plain), "×")
    observed = [events[f"{name}, observed"] / events[name] for name in plain]
    yield _most("an event with an observer, to one without", 2, observed, "×")


_CHECKS: dict[str, Callable[[Run], Iterable[Goal]]] = {
    "ingest": _ingest,
    "pipeline": _pipeline,
    "growth": _growth,
    "concurrency": _concurrency,
    "first_visible": _first_visible,
    "chunking": lambda found: [
        _none("documents shown wrongly", found["contestants"]["minamo"]["wrong"])
    ],
    "splitting": lambda found: [
        _none("split with a fault", found["contestants"]["minamo"]["documents_with_a_fault"])
    ],
    "stops": _stops,
    "machine": _machine,
}
