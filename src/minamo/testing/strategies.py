"""Hypothesis strategies: texts, traces of a stream, stream results, and events for any chart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from minamo.core.chunks import (
    Call,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import replay
from minamo.machine import Chart, paths

ATOMS = [
    "a",
    " ",
    ".",
    "!",
    "\n",
    "\r\n",
    '"',
    "`",
    "```",
    "~~~",
    "<",
    "<think>",
    "</think>",
    "<details>",
    "</details>",
    "@everyone",
    "<@123>",
    "[x](http://y)",
    "https://x_y_z.example/a__b ",
    "*",
    "**",
    "_",
    "__",
    "~~",
    "|",
    "||",
    "\\",
    "\\*",
    "> ",
    "\n> ",
    "\n>>> ",
    "\n```py\n",
    "\n```\n",
    "\n| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "- ",
    "\n1. a\n    ```\n",
    "    ```\n",
    "\t~~~\n",
    "é",
    "e\u0301",
    "\u0301",
    "🙂",
    "👩\u200d👩\u200d👧",
    "漢",
    "\u200b",
    "\u202e",
    "\u2028",
    "\x00",
    "\ud83d",
]
# Repetition counts just below, at and above the limits.
RUNS = [1, 1, 1, 1, 2, 3, 63, 64, 65, 130, 999, 1000, 1001, 1999, 2000, 2001]
WORDS = ["alpha", "beta", "x", "a.b", "Ωmega", "漢字", "🙂", "fn(a, b)", "10", "end.", "so?", "--"]


def texts(max_size: int = 8) -> st.SearchStrategy[str]:
    """Generate atoms, each repeated up to about two thousand times."""
    run = st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS))
    return st.lists(run, max_size=max_size).map(
        lambda runs: "".join(atom * count for atom, count in runs)
    )


def words(max_size: int = 40) -> st.SearchStrategy[str]:
    """Generate words separated by blanks."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=max_size).map(" ".join)


def formatted(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Generate *inner* inside a formatting marker, which is mostly closed."""
    markers = st.sampled_from(["**", "__", "~~", "||", "*", "_", "`", "``"])
    whole = st.tuples(markers, inner).map(lambda t: f"{t[0]}{t[1]}{t[0]}")
    broken = st.tuples(markers, inner).map(lambda t: f"{t[0]}{t[1]}")
    return st.one_of(whole, whole, whole, broken)


def fences() -> st.SearchStrategy[str]:
    """Generate code fences of both kinds, some left open, some with backticks inside.

    The first line of some is text, up to longer than a message.
    """
    text = st.builds(
        lambda word, count: (word * count)[:count],
        st.sampled_from(["x", "No language. ", "a-b "]),
        st.sampled_from([33, 101, 999, 1_000, 2_500]),
    )
    languages = st.sampled_from(["", "py", "c++", "{r}", "js title=x"])
    return st.tuples(
        st.sampled_from(["```", "````", "~~~"]),
        st.one_of(languages, languages, languages, text),
        st.lists(st.sampled_from(["x = 1", "    pass", "", "a || b", "```", "**kw", "y" * 400])),
        st.booleans(),
    ).map(lambda t: "\n".join([t[0] + t[1], *t[2], *([t[0]] if t[3] else [])]))


def tables() -> st.SearchStrategy[str]:
    """Generate tables with ragged rows and wide characters."""
    cell = st.sampled_from(["a", "long cell text", "", "漢字", "`x`", "**b**", "a\\|b", "🙂", "|"])
    row = st.lists(cell, min_size=1, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |")
    return st.tuples(st.lists(row, min_size=1, max_size=30), st.integers(1, 4)).map(
        lambda t: "\n".join([t[0][0], "|" + "---|" * t[1], *t[0][1:]])
    )


def quotes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Generate quotes of both kinds."""
    lines = inner.map(lambda text: "\n".join(f"> {line}" for line in text.split("\n")))
    return st.one_of(lines, inner.map(lambda text: f">>> {text}"))


def markdown_texts(max_size: int = 10) -> st.SearchStrategy[str]:
    """Generate valid and broken Discord markdown: formatting, fences, tables, quotes, runs."""
    inline = st.recursive(
        words(),
        lambda inner: st.one_of(
            formatted(inner),
            st.lists(inner, min_size=1, max_size=4).map(" ".join),
            st.lists(inner, min_size=1, max_size=3).map("\n".join),
        ),
        max_leaves=8,
    )
    block = st.one_of(inline, formatted(inline), quotes(inline), fences(), tables(), texts(3))
    joint = st.sampled_from(["\n", "\n\n", " ", "\r\n"])
    return st.lists(st.tuples(block, joint), max_size=max_size).map(
        lambda parts: "".join(part + joint for part, joint in parts)
    )


def marked_texts() -> st.SearchStrategy[str]:
    """Generate model output: such texts with opening and closing thoughts, details and fences."""
    mark = st.sampled_from(
        ["<think>", "</think>", "<details>", "</details>", "<think/>", "</thi", "\n```py\n",
         "\n```\n", "<summary>s</summary>", "Sentence. ", "\n\n", "\nBob: ", "[system: x]"]
    )  # fmt: skip
    mixed = st.lists(st.one_of(texts(2), words(8), mark, mark), max_size=6).map("".join)
    return st.one_of(mixed, mixed, markdown_texts(2)).map(_whole)


def _whole(text: str) -> str:
    """Return *text* without lone surrogates, which have no offset that can be tracked."""
    return "".join(char for char in text if not "\ud800" <= char <= "\udfff")


#: Settings that change how text is cut, cleaned or counted, or when it times out.
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"degree": 0},
    {"degree": 2},
    {"degree": 3, "humanize": True},
    {"max_message_length": 100},
    {"flush_buffer_size": 50, "degree": 2},
    {"send_message_limit": 2},
    {"prefill": "So "},
    {"speaker_names": ["Bob"], "bot_name": "Bob"},
    {"tables": "raw"},
    {"suppress_text_output": True},
    {"inactivity_timeout_ms": 1_000, "stream_deadline_ms": 5_000},
)
_CALL = Call("look_up", {"word": "reed"}, "call-1")
_ENDS: tuple[Moment | None, ...] = (
    Moment(0, "end"),
    Moment(0, "end"),
    Moment(0, "end"),
    None,  # silence
    Moment(0, "chunk", FunctionCall((_CALL,))),
    Moment(0, "chunk", FunctionCall((_CALL, _CALL), ("a thought before the calls",))),
    Moment(0, "chunk", ErrorChunk("api_error", "it broke")),
    Moment(0, "chunk", ErrorChunk("rate_limit", retryable=True, retry_after=2.0, status=429)),
    Moment(0, "stop"),
    Moment(0, "stop", requester="4711"),
    Moment(0, "follow_up"),
    Moment(0, "follow_up"),
    Moment(0, "kill"),
    Moment(0, "delivery_lost"),
)
_SAYS: tuple[Moment, ...] = (
    Moment(0, "chunk", DoneChunk("stop", Usage(3, 4))),
    Moment(0, "chunk", DoneChunk("length")),
    Moment(0, "chunk", TextChunk("", ("a thought of the provider's own",))),
    Moment(0, "chunk", FileChunk(b"\x89PNG", "image/png", "reed.png")),
)
_JUST = 0.001  # seconds before or after a timeout
_CUTS_MAX = 6

Happening = Callable[[float], list[Moment]]
"""Returns the moments of a step, given its time."""


def traces(config: StreamConfig | None = None, *, max_size: int = 6) -> st.SearchStrategy[Trace]:
    """Generate traces of a stream: actions of provider, users and Discord in any order and timing.

    Every kind of ending is common, and so are events that arrive after it.
    Without *config* the settings vary too.  *max_size* bounds the number of steps before the end.
    """
    configs = st.just(config) if config is not None else st.sampled_from(_SETTINGS).map(_configured)
    return configs.flatmap(lambda chosen: _lives(chosen, max_size))


def results(config: StreamConfig | None = None) -> st.SearchStrategy[StreamResult]:
    """Generate the results of such traces, with all seven outcomes, to test code that uses them."""
    return traces(config, max_size=2).map(lambda trace: replay(trace).result)


def events(chart: Chart, *, max_size: int = 30) -> st.SearchStrategy[list[str]]:
    """Generate events for a machine of *chart*: a shortest path to some row, then random events.

    Random events alone would seldom get far: most charts end early.
    """
    ways = [
        [hop.event for hop in way if hop.event in chart.events] for way in paths(chart).values()
    ]
    anything = st.lists(st.sampled_from(sorted(chart.events)), max_size=max_size)
    return st.tuples(st.sampled_from(ways), anything).map(lambda drawn: [*drawn[0], *drawn[1]])


def _configured(settings: dict[str, Any]) -> StreamConfig:
    return StreamConfig(**{"humanize": False, **settings})


def _lives(config: StreamConfig, max_size: int) -> st.SearchStrategy[Trace]:
    return st.booleans().flatmap(lambda slow: _paced(config, max_size, _pauses(config, slow)))


def _paced(
    config: StreamConfig, max_size: int, pauses: st.SearchStrategy[float]
) -> st.SearchStrategy[Trace]:
    before = st.tuples(pauses, st.one_of(_said(), _said(), _happenings(_SAYS)))
    ending = st.tuples(pauses, _happenings(_ENDS))
    after = st.tuples(pauses, st.one_of(_said(), _happenings(_ENDS)))
    steps = st.tuples(st.lists(before, max_size=max_size), ending, st.lists(after, max_size=2))
    return steps.map(lambda life: Trace(config, _in_time([*life[0], life[1], *life[2]])))


def _pauses(config: StreamConfig, slow: bool) -> st.SearchStrategy[float]:
    """Generate pauses; if *slow*, some are just below, at or above one of the timeouts."""
    usual = [0.0, 0.0, 0.05]
    if not slow:
        return st.sampled_from(usual)
    clocks = (config.inactivity_timeout_ms / 1000, config.stream_deadline_ms / 1000)
    edges = [clock + by for clock in clocks for by in (-_JUST, 0.0, _JUST)]
    return st.sampled_from([*usual, *usual, *edges])


def _in_time(steps: list[tuple[float, Happening]]) -> tuple[Moment, ...]:
    now = 0.0
    moments: list[Moment] = []
    for pause, happens in steps:
        now += pause
        moments += happens(now)
    return tuple(moments)


def _said() -> st.SearchStrategy[Happening]:
    """Generate a text in chunks of any size."""
    places = st.lists(st.integers(0, 10**6), max_size=_CUTS_MAX)
    return st.tuples(marked_texts(), places).map(lambda drawn: _chunked(*drawn))


def _chunked(text: str, places: list[int]) -> Happening:
    cuts = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    parts = [text[a:b] for a, b in itertools.pairwise(cuts)]
    return lambda now: [Moment(now, "chunk", chunk=TextChunk(part)) for part in parts]


def _happenings(moments: tuple[Moment | None, ...]) -> st.SearchStrategy[Happening]:
    return st.sampled_from(moments).map(
        lambda moment: lambda now: [] if moment is None else [evolve(moment, at=now)]
    )
