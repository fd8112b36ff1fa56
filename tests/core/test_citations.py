"""Sources of a reply: what a chunk may carry, a trace keeps, and a result shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import (
    CITATIONS_MAX,
    PLACES_MAX,
    Call,
    Citation,
    DoneChunk,
    FunctionCall,
    TextChunk,
)
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.trace import chunk_record, read_trace
from minamo.errors import BadSetting, BadTrace
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import check_adapter, listen, run_with_virtual_clock
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.limits import WireLimits
from support.recordings import adapter, recording

TIDES = Citation("https://example.invalid/tides", "Tides", ((0, 5),))
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
        *(
            ((Citation("https://x.invalid", places=wrong),), "places must be a tuple of pairs")
            for wrong in ([(1, 2)], (1, 2), ((1,),), ((-1, 2),), ((1, "x"),))
        ),
    ],
)
def test_sources_of_wrong_types_are_refused(citations: Any, problem: str) -> None:
    assert problem in as_chunk(DoneChunk(citations=citations))[1]
    assert problem in as_chunk(TextChunk("x", citations=citations))[1]


@pytest.mark.parametrize("skipped", [-1, "x"])
def test_a_count_of_skipped_events_is_a_number(skipped: Any) -> None:
    for chunk in (DoneChunk(skipped=skipped), FunctionCall((Call("a"),), skipped=skipped)):
        assert "skipped must be a number of events" in as_chunk(chunk)[1]


@pytest.mark.parametrize(
    "chunk",
    [
        DoneChunk("stop", citations=(TIDES, MOON), raw_finish_reason="STOP", skipped=2),
        TextChunk("Tides", citations=(TIDES,)),
        FunctionCall((Call("a"),), citations=(MOON,), skipped=1),
    ],
)
def test_a_trace_keeps_them(chunk: Any) -> None:
    line = json.dumps({"chunk": chunk_record(chunk)})
    assert read_trace([line]).moments[0].chunk == chunk
    assert as_chunk(chunk) == (chunk, "")


@pytest.mark.parametrize(
    "citations",
    [
        5,
        [5],
        [{"link": "x"}],
        [{"url": 5}],
        *([{"places": wrong}] for wrong in (5, [5], [[-1, 2]])),
    ],
)
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
    assert cited((url, "x sk-canary", 3, 4)) == (Citation(url, "x [key]", ((3, 4),)),)
    again = [(url, "A", 3, 4), (url, "A", 3, 4), (url, "", 7, 9)]
    assert cited(*again) == (Citation(url, "A", ((3, 4), (7, 9))),)


def test_there_is_an_end_to_them() -> None:
    many = [(f"https://x.invalid/{number}",) for number in range(CITATIONS_MAX + 9)]
    assert len(cited(*many)) == CITATIONS_MAX
    first = (f"https://x.invalid/{0}", "Zero", 1, 2)
    assert cited(*many, first)[0] == Citation(*first[:2], ((1, 2),))
    (often,) = cited(*(("https://x.invalid", "", at, at) for at in range(PLACES_MAX + 9)))
    assert len(often.places) == PLACES_MAX


def shown(*said: Any, where: Any = True, **settings: Any) -> tuple[list[str], str]:
    heard = run_with_virtual_clock(
        lambda: listen(ScriptedProvider(said), StreamConfig(show_citations=where, **settings))
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


PASSAGES = [
    TextChunk("The moon pulls the sea", citations=(MOON,)),
    ". Twice a day",
    TextChunk(citations=(TIDES, MOON)),
    ".",
]


def test_their_numbers_stand_in_place_if_wanted() -> None:
    numbered = "1. <https://example.invalid/moon>\n2. Tides <https://example.invalid/tides>"
    text = "The moon pulls the sea[1]. Twice a day[2][1]."
    (whole,), _ = shown(*PASSAGES, SOURCES, where="in_place", degree=0)
    assert whole == f"{text}\n\n{numbered}"
    (end,), _ = shown(*PASSAGES, SOURCES, where="end", degree=0)
    assert end == f"The moon pulls the sea. Twice a day.\n\n{LIST}"
    assert shown(*PASSAGES, SOURCES, where="off")[0] == ["The moon pulls the sea. Twice a day."]


@pytest.mark.parametrize(
    ("name", "text", "sources"),
    [
        # Only Anthropic names the sources right behind the passage.
        ("anthropic-web-search", "Ebbe 🌊 folgt dem Mond[1][2]. Ja[1].",
         ["Gezeiten <https://example.invalid/gezeiten>", "Mond <https://example.invalid/mond>"]),
        # Others name them after the text was shown; some models write links or numbers themselves.
        ("responses-web-search", "Looking. The moon does it ([tides](x)) 🌊 and the sun.",
         ["Tides, explained <https://example.invalid/tides?utm_source=openai>",
          "The moon <https://example.invalid/moon>"]),
        ("openai-02-perplexity", "Rain today.[1]", ["T <https://example.org>"]),
        ("openai-07-openrouter-search", "The moon.", ["The moon <https://example.invalid/moon>"]),
        ("google-grounding", "The moon.",
         ["example.invalid <https://example.invalid/tides>", "moon <https://example.invalid/moon>"]),
    ],
)  # fmt: skip
def test_the_sources_of_every_dialect_are_listed(name: str, text: str, sources: list[str]) -> None:
    chunks = check_adapter(adapter(name), recording(name))
    listed = "\n".join(f"{number}. {source}" for number, source in enumerate(sources, 1))
    assert shown(*chunks, where="in_place", degree=0)[0] == [f"{text}\n\n{listed}"]


def test_their_numbers_stay_with_their_passages_across_messages() -> None:
    many = [
        TextChunk(
            f"Passage {number} {'x' * 150}.", citations=(Citation(f"https://x.invalid/{number}"),)
        )
        for number in range(1, 9)
    ]
    spaced = [part for passage in many for part in (passage, " ")]
    messages, _ = shown(*spaced, DoneChunk("stop"), where="in_place", max_message_length=400)
    assert len(messages) > 2
    assert "".join(messages).replace(" ", "") == "".join(
        f"Passage{number}{'x' * 150}.[{number}]" for number in range(1, 9)
    )
    assert not any(message.startswith("[") for message in messages)


@pytest.mark.parametrize("text", ["<think>Hm", "```\ncode"])
def test_no_numbers_inside_of_something(text: str) -> None:
    cited_inside = TextChunk(text, citations=(MOON,))
    assert "[1]" not in "".join(shown(cited_inside, DoneChunk("stop"), where="in_place")[0])


def test_sources_with_a_call_are_shown_before_it() -> None:
    call = FunctionCall((Call("a"),), citations=(MOON,))
    (text,), status = shown("The moon.", call, degree=0)
    assert (text, status) == ("The moon.\n\n1. <https://example.invalid/moon>", "function_call")


def test_numbers_end_with_the_list() -> None:
    many = tuple(Citation(f"https://x.invalid/{number}") for number in range(12))
    (text,), _ = shown(TextChunk("Hi", citations=many), ".", where="in_place", degree=0)
    assert text == f"Hi{''.join(f'[{number}]' for number in range(1, 11))}."


@pytest.mark.parametrize("where", ["above", 5, None])
def test_a_place_that_there_is_not(where: Any) -> None:
    with pytest.raises(BadSetting, match="show_citations must be off, end or in_place; it is"):
        StreamConfig(show_citations=where)


@pytest.mark.parametrize(
    "chunk", [DoneChunk("stop", skipped=3), FunctionCall((Call("a"),), skipped=3)]
)
def test_skipped_events_are_a_metric(chunk: Any) -> None:
    result = run_with_virtual_clock(lambda: listen(ScriptedProvider(["Hi.", chunk]))).result
    assert result.metrics["skipped_events"] == 3
