"""The pictures of the report, from the JSON of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.plots import Bar, Bars, Curves, picture

Run = dict[str, Any]


def pictures(run: Run) -> dict[str, str]:
    """Return the pictures of a run, by name."""
    found = run["benchmarks"]
    made = {name: draw(found[name]) for name, draw in _PICTURES.items() if name in found}
    if found.keys() >= _NEEDED:
        made["summary"] = _summary(run)
    return made


def number(value: float) -> str:
    """Return a figure with as many digits as it deserves."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _ratio_bar(label: str, ratio: dict[str, float]) -> Bar:
    return Bar(label, ratio["ratio"], ratio["low"], ratio["high"], f"{number(ratio['ratio'])}×")


def _value_bar(label: str, value: float, text: str) -> Bar:
    return Bar(label, value, value, value, text)


def _ingest_panel(dialect: str, contestants: Run) -> Bars:
    bars = [
        _ratio_bar("by hand" if name == "floor" else name, one["to_floor"])
        for name, one in contestants.items()
    ]
    return Bars(dialect, "CPU per chunk ÷ the least that aiohttp and msgspec can do", _sorted(bars))


def _sorted(bars: list[Bar]) -> list[Bar]:
    return sorted(bars, key=lambda bar: bar.value)


def _draw_ingest(found: Run) -> str:
    panels = [_ingest_panel(*item) for item in found["dialects"].items()]
    about = "CPU time from bytes to a chunk of text; whiskers: 95 % interval; logarithmic"
    return picture("Ingest", about, panels)


def _growth_panel(shape: str, ways: Run) -> Curves:
    curves: dict[str, Sequence[tuple[float, float]]] = {
        f"{way} (slope {one['slope']:.2f})" if one["slope"] else way: [
            (length, took) for length, took in one["seconds"]
        ]
        for way, one in ways.items()
    }
    return Curves(shape, "CPU time for a reply against its chunks of 4 characters", curves)


def _draw_growth(found: Run) -> str:
    panels = [_growth_panel(*item) for item in found["shapes"].items()]
    return picture(
        "Growth", "both axes are logarithmic; a straight line of slope 1 is linear", panels
    )


def _draw_first_visible(found: Run) -> str:
    panels: list[Bars | Curves] = []
    for rate, ways in found["rates"].items():
        behind = [
            _value_bar(way, max(one["behind_s"], 0.01), f"{number(one['behind_s'])} s"
                       + (f", {one['lost']} lost" if one["lost"] else ""))
            for way, one in ways.items()
        ]  # fmt: skip
        calls = [
            _value_bar(way, one["calls"], f"{one['calls']} calls"
                       + (f", {one['refused_429']} × 429" if one["refused_429"] else ""))
            for way, one in ways.items()
        ]  # fmt: skip
        panels += [
            Bars(f"{rate} tokens per second: behind", "a word waits so long, on average", behind),
            Bars(f"{rate} tokens per second: calls", "for the whole reply", calls),
        ]
    return picture("First visible", "one reply in real time into a local Discord", panels)


def _machine_panel(events: Run, title: str) -> Bars:
    bars = [
        _ratio_bar("by hand" if name == "floor" else name, one["to_floor"])
        for name, one in events.items()
    ]
    return Bars(title, "time per event ÷ a dict table written by hand", _sorted(bars))


def _draw_machine(found: Run) -> str:
    panels = [
        _machine_panel(events, name)
        for name, events in found["events"].items()
        if "observed" not in name
    ]
    return picture("Machine", "one event with empty actions; logarithmic", panels)


_PICTURES: dict[str, Callable[[Run], str]] = {
    "ingest": _draw_ingest,
    "growth": _draw_growth,
    "first_visible": _draw_first_visible,
    "machine": _draw_machine,
}
_NEEDED = {"ingest", "growth", "splitting", "first_visible", "chunking", "machine"}


def _summary(run: Run) -> str:
    found = run["benchmarks"]
    faults = [
        _value_bar("cut every 2,000" if name == "floor" else name,
                   max(one["documents_with_a_fault"], 0.5),
                   f"{one['documents_with_a_fault']} of {found['splitting']['documents']}")
        for name, one in found["splitting"]["contestants"].items()
    ]  # fmt: skip
    wrong = [
        _value_bar(
            name, max(one["wrong"], 0.5), f"{one['wrong']} of {found['chunking']['documents']}"
        )
        for name, one in found["chunking"]["contestants"].items()
    ]
    rate = (
        "60"
        if "60" in found["first_visible"]["rates"]
        else next(iter(found["first_visible"]["rates"]))
    )
    behind = [
        _value_bar(
            way, max(one["behind_s"], 0.01), f"{number(one['behind_s'])} s, {one['calls']} calls"
        )
        for way, one in found["first_visible"]["rates"][rate].items()
    ]
    panels: list[Bars | Curves] = [
        _ingest_panel("Ingest: CPU per chunk, OpenAI's dialect",
                      found["ingest"]["dialects"]["openai"]),
        _machine_panel(found["machine"]["events"]["text"], "State machine: time per event"),
        Bars("Splitting: documents with a fault", "lost, torn, too long, broken, revealed",
             _sorted(faults)),
        Bars("Thoughts: documents shown wrongly", "leaked, lost, or dependent on the chunks",
             _sorted(wrong)),
        Bars(f"Discord at {rate} tokens per second", "a word waits so long, on average", behind),
        _growth_panel("Growth: " + next(iter(found["growth"]["shapes"])),
                      next(iter(found["growth"]["shapes"].values()))),
    ]  # fmt: skip
    about = f"one run, {run['date']}, commit {run['commit']}; logarithmic axes; shorter is better"
    return picture("minamo beside its peers", about, panels)
