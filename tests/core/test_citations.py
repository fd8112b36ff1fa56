"""Sources of a reply: what a chunk may carry, a trace keeps, and a result shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import CITATIONS_MAX, Call, Citation, DoneChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.trace import chunk_record, read_trace
from minamo.errors import BadTrace
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import listen, run_with_virtual_clock
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.limits import WireLimits

TIDES = Citation("https://example.invalid/tides", "Tides", 0, 5)
MOON = Citation("https://example.invalid/moon")


class Word(str):
    """A text of a class of somebody's own."""


@pytest.mark.parametrize("kind", [DoneChunk, lambda **told: FunctionCall((Call("a"),), **told)])
def test_a_chunk_carries_sources(kind: Any) -> None:
    chunk = kind(citations=(TIDES, Citation(Word("https://x.invalid"), Word("X"))))
    made, problem = as_chunk(chunk)
    assert problem == ""
    assert made.citations == (TIDES, Citation("https://x.invalid", "X"))  # type: ignore[union-attr]
    assert type(made.citations[1].url) is str  # type: ignore[union-attr]
    many = kind(citations=(MOON,) * (CITATIONS_MAX + 1))
    assert len(as_chunk(many)[0].citations) == CITATIONS_MAX  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("citations", "problem"),
    [
        ([TIDES], "citations must be a tuple of Citation, and is a list"),
        (("https://x.invalid",), "citations must be Citation, and one is a str"),
        ((Citation(7),), "url must be text"),  # type: ignore[arg-type]
        ((Citation("https://x.invalid", None),), "title must be text"),  # type: ignore[arg-type]
        ((Citation("https://x.invalid", start=-1),), "start must be a number of characters"),
        ((Citation("https://x.invalid", end="x"),), "end must be a number of characters"),  # type: ignore[arg-type]
    ],
)
def test_sources_of_wrong_types_are_refused(citations: Any, problem: str) -> None:
    assert problem in as_chunk(DoneChunk(citations=citations))[1]


@pytest.mark.parametrize("skipped", [-1, "x"])
def test_a_count_of_skipped_events_is_a_number(skipped: Any) -> None:
    assert "skipped must be a number of events" in as_chunk(DoneChunk(skipped=skipped))[1]


def test_a_trace_keeps_them() -> None:
    done = DoneChunk("stop", citations=(TIDES, MOON), raw_finish_reason="STOP")
    line = json.dumps({"chunk": chunk_record(done)})
    assert read_trace([line]).moments[0].chunk == done


@pytest.mark.parametrize("citations", [5, [5], [{"link": "x"}], [{"url": 5}], [{"start": "x"}]])
def test_a_trace_with_wrong_ones_is_refused(citations: Any) -> None:
    with pytest.raises(BadTrace):
        read_trace([json.dumps({"chunk": {"type": "done", "citations": citations}})])


@pytest.mark.parametrize("last", [DoneChunk, lambda **told: FunctionCall((Call("a"),), **told)])
def test_a_result_has_them(last: Any) -> None:
    source = ScriptedProvider([TextChunk("Hi."), last(citations=(TIDES,))])
    result = run_with_virtual_clock(lambda: listen(source)).result
    assert result.citations == (TIDES,)


def cited(*sources: tuple[Any, ...]) -> tuple[Citation, ...]:
    reply = ReplyAssembler(WireLimits(), secrets=["sk-canary"])
    for source in sources:
        reply.cite(*source)
    done = reply.close()[-1]
    assert isinstance(done, DoneChunk)
    return done.citations


def test_only_links_are_sources() -> None:
    odd = ["javascript:x", "ftp://x", "https://a b", "https://x>", "https://x\n", 5, None]
    assert cited(*((url,) for url in odd), ("https://" + "x" * 2_048,)) == ()


def test_a_source_is_named_once_and_by_its_title() -> None:
    url = "https://x.invalid"
    assert cited((url,), (url, " A\n title "), (url, "Other")) == (Citation(url, "A title"),)
    assert cited((url, 5, 3, 2)) == (Citation(url),)
    assert cited((url, "x sk-canary", 3, 4)) == (Citation(url, "x [key]", 3, 4),)


def test_there_is_an_end_to_them() -> None:
    many = [(f"https://x.invalid/{number}",) for number in range(CITATIONS_MAX + 9)]
    assert len(cited(*many)) == CITATIONS_MAX


def shown(*said: Any, **settings: Any) -> tuple[list[str], str]:
    heard = run_with_virtual_clock(
        lambda: listen(ScriptedProvider(said), StreamConfig(show_citations=True, **settings))
    )
    return heard.messages, heard.result.status


SOURCES = DoneChunk("stop", citations=(TIDES, MOON))
LIST = "1. Tides <https://example.invalid/tides>\n2. <https://example.invalid/moon>"


def test_sources_are_shown_at_the_end_if_wanted() -> None:
    assert shown("The moon.", SOURCES, degree=0) == ([f"The moon.\n\n{LIST}"], "completed")
    assert shown("The moon.", SOURCES) == (["The moon.", LIST], "completed")
    assert shown("The moon. <thi", SOURCES, degree=0)[0] == [f"The moon. <thi\n\n{LIST}"]
    plain = run_with_virtual_clock(lambda: listen(ScriptedProvider(["The moon.", SOURCES])))
    assert plain.messages == ["The moon."]


@pytest.mark.parametrize("text", ["<think>Hm", "```\ncode", ""])
def test_but_not_inside_of_something(text: str) -> None:
    assert "example.invalid" not in "".join(shown(text, SOURCES)[0])


def test_a_long_list_is_cut_and_its_titles_are_plain() -> None:
    many = tuple(Citation(f"https://x.invalid/{n}", f"**[{n}]**(x) {'y' * 99}") for n in range(12))
    (text,) = shown("Hi.", DoneChunk(citations=many), degree=0)[0]
    assert text.count("https://x.invalid/") == 10
    assert "1. 0x yyy" in text
    assert max(map(len, text.splitlines())) < 120
