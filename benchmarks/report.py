"""The report as Markdown, from the JSON of one run; no figure is written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contestants import ABSENT
from benchmarks.environments import ROOT
from benchmarks.goals import goals
from benchmarks.pictures import number, pictures

PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"
BEGIN = "<!-- figures: written by `make bench`, not by hand -->"
END = "<!-- end of figures -->"

Run = dict[str, Any]
FLOORS = {"ingest": "by hand (aiohttp + msgspec)", "machine": "by hand (a dict)"}


def publish(run: Run) -> list[Path]:
    """Write the page's figures and the pictures; return the files."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{section(run)}\n{END}{after}", encoding="utf-8")
    written = [PAGE]
    for name, drawn in pictures(run).items():
        path = PICTURES / f"bench-{name}.svg"
        path.write_text(drawn, encoding="utf-8")
        written.append(path)
    return written


def section(run: Run) -> str:
    """Return the figures of a run as Markdown."""
    found = run["benchmarks"]
    parts = [_about(run), _goals(run)]
    parts += [tell(found[name]) for name, tell in _SECTIONS.items() if name in found]
    parts.append(_notes(run))
    return "\n\n".join(parts) + "\n"


# Words.


def _about(run: Run) -> str:
    machine, load = run["machine"], run["load_average"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run["versions"].items()))
    short = "A short run: its figures are rough.\n\n" if run["quick"] else ""
    return (
        f"{short}One run on {run['date']}, commit `{run['commit']}`: {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}; load average "
        f"{load['before']} before it and {load['after']} after it, {run['minutes']} minutes. Read "
        "ratios, not times: a ratio compares contestants that took turns in the same minutes, and "
        "its interval holds the median of the rounds' ratios with 95 % confidence.\n\n"
        f"Versions: {versions}."
    )


def _goals(run: Run) -> str:
    rows = [
        [goal.what, goal.limit, goal.found, _yes(goal.is_met)]  # a missed goal is shown, too
        for goal in goals(run)
    ]
    return "### Goals\n\n" + table(["goal of minamo", "limit", "found", "met"], rows)


def _notes(run: Run) -> str:
    notes = dict(ABSENT)
    for found in run["benchmarks"].values():
        notes |= found.get("notes", {})
    lines = [f"- {name}: {why.strip().splitlines()[0]}" for name, why in sorted(notes.items())]
    return "\n".join(["### Not measured", "", *lines])


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table; columns behind the first are aligned to the right."""
    marks = ["---", *("--:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, marks, *rows))


def spread(ratio: dict[str, float]) -> str:
    """Return a ratio with its interval."""
    if ratio["low"] == ratio["high"]:
        return f"{number(ratio['ratio'])}×"
    return f"{number(ratio['ratio'])}× ({number(ratio['low'])} to {number(ratio['high'])})"


def _yes(value: bool) -> str:
    return "yes" if value else "**no**"


def _fault(count: int) -> str:
    return f"**{count}**" if count else "0"


def _ingest(found: Run) -> str:
    rows = []
    for dialect, contestants in found["dialects"].items():
        for name, one in contestants.items():
            rows.append([
                f"{dialect}: {FLOORS['ingest'] if name == 'floor' else name}",
                number(one["us_per_chunk"]), spread(one["to_floor"]), _yes(one["text_is_whole"]),
            ])  # fmt: skip
    head = ["dialect and reader", "CPU per chunk, µs", "to by hand", "text is whole"]
    return (
        "### Ingest: from bytes to chunks\n\n"
        f"Replies of {found['chunks']:,} chunks from a local provider in another process.\n\n"
        "![CPU per chunk of each reader, in each dialect](pictures/bench-ingest.svg)\n\n"
        + table(head, rows)
    )


def _pipeline(found: Run) -> str:
    parts = [
        "### Pipeline: from chunks to messages\n\n"
        f"A reply of {found['characters']:,} characters with a thought, prose, lists, code, tables "
        "and spoilers, without a network. *Lost* are marks in the text that no message shows; "
        "Discord renders no tables, so a table is shown as its markup or laid out as a code block. "
        "The peers collect the text and split it at the end; minamo has each message ready when "
        "its paragraph is. In a busy channel it sends what waits as one message, as they do."
    ]
    for size, contestants in found["chunk"].items():
        rows = [
            [
                "no filter, cut every 2,000" if name == "floor" else name,
                number(one["us_per_chunk"]), spread(one["to_minamo"]), str(one["messages"]),
                f"{_fault(one['lost'])} of {one['marks']}", _fault(one["thoughts_shown"]),
                _fault(one["too_long"]), _fault(one["broken_code_blocks"]),
                _fault(one["raw_tables"]),
            ]
            for name, one in contestants.items()
        ]  # fmt: skip
        head = [f"chunks of {size} characters", "CPU per chunk, µs", "to minamo", "messages",
                "lost", "thoughts shown", "too long", "broken code blocks",
                "tables as markup"]  # fmt: skip
        parts.append(table(head, rows))
    driver = found["driver_us_per_chunk_of_prose"]
    parts.append(
        "Prose through the whole driver, with its clocks and checkpoints: "
        + ", ".join(f"{number(took)} µs per chunk of {size}" for size, took in driver.items())
        + " characters."
    )
    return "\n\n".join(parts)


def _growth(found: Run) -> str:
    shapes = found["shapes"]
    ways = list(dict.fromkeys(way for shape in shapes.values() for way in shape))
    rows = [
        [way, *(_slope(shapes[shape].get(way)) for shape in shapes)] for way in ways
    ]  # fmt: skip
    return (
        "### Growth: long replies\n\n"
        f"Replies of {found['chunks'][0]:,} to {found['chunks'][-1]:,} chunks of 4 characters. The "
        "slope is that of the four longest replies of each: 1 is linear, 2 "
        "quadratic. In brackets: seconds for the "
        "longest reply that was tried, with its length.\n\n"
        "![Time for a reply against its length, on logarithmic axes](pictures/bench-growth.svg)"
        "\n\n" + table(["slope", *shapes], rows)
    )


def _slope(found: Run | None) -> str:
    if found is None:
        return "–"
    length, took = found["seconds"][-1]
    words = "–" if found["slope"] is None else f"{found['slope']:.2f}"
    return f"{words} ({number(took)} s, {length:,})"


def _concurrency(found: Run) -> str:
    rows = []
    for streams, contestants in found["sockets"].items():
        for name, one in contestants.items():
            rows.append([
                f"{streams} × {FLOORS['ingest'] if name == 'floor' else name}",
                f"{one['chunks_per_s']:,}", spread(one["time_to_minamo"]),
                number(one["loop_held_p99_ms"]), f"{one['grown_kib_per_stream']:,}",
                _yes(one["text_is_whole"]),
            ])  # fmt: skip
    head = ["replies at once", "chunks/s", "time to minamo", "loop held p99, ms",
            "memory per stream, KiB", "text is whole"]  # fmt: skip
    load = "; ".join(
        f"{int(streams):,} streams of {found['rate']} chunks per second: late by "
        f"{number(one['p50_ms'])} ms (p50) and {number(one['p99_ms'])} ms (p99), "
        f"{one['core_percent']} % of a core"
        for streams, one in found["load"].items()
    )
    return (
        "### Concurrency: many replies in one process\n\n"
        f"Replies of {found['chunks']:,} chunks, as fast as the provider writes; minamo carries "
        "them on to messages, the others only read.\n\n" + table(head, rows) + "\n\n"
        f"In real time, through the driver: {load}. To a task that waits for a silent provider "
        f"minamo adds {found['idle_bytes'] / 1024:.1f} KiB."
    )


def _first_visible(found: Run) -> str:
    rows = []
    for rate, ways in found["rates"].items():
        for way, one in ways.items():
            first = one["first_visible_ms"]
            rows.append([
                f"{rate} tokens/s: {way}", "never" if first is None else f"{first:,}",
                number(one["behind_s"]), number(one["after_the_end_s"] or 0), str(one["calls"]),
                _fault(one["refused_429"]), number(one["bytes_to_reply"]),
                f"{_fault(one['lost'])} of {one['marks']}", _fault(one["thoughts_shown"]),
            ])  # fmt: skip
    head = ["rate and bot", "first visible, ms", "text is behind, s", "over after the end, s",
            "calls", "429", "characters sent ÷ reply", "lost", "thoughts shown"]  # fmt: skip
    return (
        "### First visible: a reply in real time\n\n"
        f"A reply of {found['characters']:,} characters into a local Discord: five messages and "
        f"five edits in five seconds, {found['latency_s'] * 1000:.0f} ms per call. *Behind* is how "
        "long a word waits between the model and the channel, on average; one that is never shown "
        "counts as the reply's duration.\n\n"
        "![When words become visible, and with how many calls](pictures/bench-first_visible.svg)"
        "\n\n" + table(head, rows)
    )


def _chunking(found: Run) -> str:
    rows = [
        [name, f"{one['cases']:,}", _fault(one["depend_on_chunks"]),
         _fault(one["show_hidden_text"]), _fault(one["lose_text"]), _fault(one["wrong"])]
        for name, one in found["contestants"].items()
    ]  # fmt: skip
    head = ["hides thoughts by tags", "cases", "depend on the cut", "show hidden text",
            "lose text", "wrong in any way"]  # fmt: skip
    return (
        "### Chunking: the same reply, cut elsewhere\n\n"
        f"{found['documents']} documents with tags, unclosed tags, and tags in code, each cut "
        "everywhere in two, in equal parts and at random. The counts are documents.\n\n"
        + table(head, rows)
    )


def _splitting(found: Run) -> str:
    columns = {
        "documents_with_a_fault": "documents with a fault", "lost": "lost words",
        "too_long": "too long", "broken_code_blocks": "broken code blocks",
        "torn_code_lines": "torn code lines", "revealed_spoilers": "revealed spoiler words",
        "open_bold": "bold left open", "torn_links": "torn links",
        "torn_graphemes": "torn graphemes", "messages": "messages",
    }  # fmt: skip
    rows = [
        ["cut every 2,000" if name == "floor" else name,
         *(str(one[key]) if key == "messages" else _fault(one[key]) for key in columns)]
        for name, one in found["contestants"].items()
    ]  # fmt: skip
    return (
        "### Splitting: replies longer than a message\n\n"
        f"{found['documents']} documents with code, tables, spoilers of 2,700 characters, bold "
        "passages of 660, links, emoji and text without spaces, alone and mixed.  Bold passages of "
        "more than a message are left out: minamo leaves some of them open, because their end is "
        "not yet known where it cuts.\n\n" + table(["splitter", *columns.values()], rows)
    )


def _stops(found: Run) -> str:
    rows = [
        [state, number(one["p50_ms"]), number(one["p99_ms"]), str(one["sends_begun_after"])]
        for state, one in found["states"].items()
    ]
    peers = [
        [name, number(one["p50_ms"]), number(one["p99_ms"])] for name, one in found["peers"].items()
    ]
    stalls = [
        [name, number(one["late_p50_ms"]), number(one["late_p99_ms"]), _yes(one["text_is_kept"])]
        for name, one in found["stalls"].items()
    ]
    return (
        "### Stops and stalls\n\n"
        "From the request of a user, a newer message or an operator to the outcome, in every "
        "state. A send begun after a newer message or a kill would show a text that was withdrawn."
        "\n\n"
        + table(["minamo in state", "p50, ms", "p99, ms", "sends begun after"], rows)
        + "\n\nUntil the call has returned, while the provider is silent:\n\n"
        + table(["stopped", "p50, ms", "p99, ms"], peers)
        + f"\n\nA provider goes silent and the timeout is {found['stall_timeout_ms']} ms; noticed "
        "late by:\n\n" + table(["stalled", "p50, ms", "p99, ms", "text is kept"], stalls)
    )


def _machine(found: Run) -> str:
    events = found["events"]
    names = list(events["text"])
    rows = []
    for name in names:
        label = FLOORS["machine"] if name == "floor" else name
        made = found["us_per_instance"].get(name)
        costs = [
            "–" if name not in contestants else f"{contestants[name]['ns_per_event']:,.0f}"
            for contestants in events.values()
        ]
        rows.append([label, *costs, spread(events["text"][name]["to_floor"]),
                     "–" if made is None else number(made)])  # fmt: skip
    head = ["nanoseconds per event", *events, "text, to by hand", "new machine, µs"]
    return (
        "### Machine: one event\n\n"
        "The rows of the stream chart that a chunk and a thought take, with empty actions.\n\n"
        "![Time per event of each machine](pictures/bench-machine.svg)\n\n" + table(head, rows)
    )


def _delivery(found: Run) -> str:
    rates = found["messages_per_s"]
    return (
        "### Delivery: messages to Discord\n\n"
        f"In order to one channel of a local Discord without limits: {rates['minamo']:,} messages "
        f"per second through a lane, {rates['hikari']:,} by bare hikari; "
        f"{spread(found['minamo_to_hikari'])}."
    )


_SECTIONS: dict[str, Callable[[Run], str]] = {
    "ingest": _ingest,
    "pipeline": _pipeline,
    "growth": _growth,
    "concurrency": _concurrency,
    "first_visible": _first_visible,
    "chunking": _chunking,
    "splitting": _splitting,
    "stops": _stops,
    "machine": _machine,
    "delivery": _delivery,
}
