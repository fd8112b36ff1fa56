"""Text is conserved and fits, and chunking does not matter: with texts that find faults."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk, find_problem
from minamo.core.stream import Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import replay
from minamo.shell.notices.localization import Languages
from minamo.shell.notices.notices import notice_for
from minamo.shell.providers.base import Adapter, ChatStream
from minamo.shell.providers.retry import fallback, retry
from minamo.testing import listen, run_with_virtual_clock
from minamo.testing.strategies import markdown_texts, texts
from minamo.wire.frames import Frame
from support.audit import audit, fits, run, same
from support.seeds import dice, seeds

SETTINGS: list[dict[str, object]] = [
    {},
    {"degree": 0},
    {"degree": 2},
    {"degree": 3},
    {"degree": 3, "humanize": True},
    {"max_message_length": 100},
    {"flush_buffer_size": 50, "degree": 2},
    {"flush_buffer_size_code_block": 80, "max_message_length": 120},
    {"send_message_limit": 2},
    {"prefill": "a a"},
    {"speaker_names": ["Bob", "a"], "bot_name": "Bob"},
    {"generic_speaker_guard": True, "degree": 2},
    {"speaker_names": ["Bob", "a"], "guard_first_line": True, "generic_speaker_guard": True},
    {"tables": "bullets"},
    {"tables": "raw"},
    {"clean_off": ["invisible", "masked_link", "blank_lines"]},
    {"mentions": {"everyone": "5"}},
]
ENDINGS = ["end", "end", "end", "stop", "kill", "follow_up", "delivery_lost", ""]

marked = st.lists(
    st.one_of(
        texts(3),
        st.sampled_from(
            ["<think>", "</think>", "<details>", "</details>", "<think/>", "\n```py\n", "\n```\n",
             "<summary>s</summary>", "\nBob: ", "</thi", "Sentence. ", "\n\n", "[system: x]"]
        ),
    ),
    max_size=8,
).map("".join)  # fmt: skip
any_text = st.one_of(marked, marked, markdown_texts(4))


def clean(text: str) -> str:
    """Lone surrogates are counted apart; here every character stands for itself."""
    return "".join(char for char in text if not "\ud800" <= char <= "\udfff")


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in itertools.pairwise(places)]
    return [part for part in parts if part]


@given(any_text, st.lists(st.integers(0, 10**6), max_size=10), st.sampled_from(SETTINGS),
       st.sampled_from(ENDINGS))  # fmt: skip
@example("```" + "<summary>s</summary>" * 60, [3, 700], {"degree": 3}, "follow_up")
@example("\n\n`````<details><details>\nBob: </details> x", [], {"speaker_names": ["Bob"]}, "end")
@example("\n```\nx", [], {"prefill": "a a"}, "end")
@example("`</think>``<think>``<\n", [], {}, "end")
@example("a" + "\n| a | b |\n|---|---|\n" * 20, [219], {"send_message_limit": 2}, "end")
@example("a" * 4_205 + "\r\nb", [4_206], {"send_message_limit": 2}, "end")
def test_p02_p03_p04_text_is_conserved_fits_and_does_not_depend_on_chunks(
    text: str, cuts: list[int], chosen: dict[str, object], ending: str
) -> None:
    text = clean(text)
    whole = run([text], ending=ending, **chosen)
    audit(whole, text)
    fits(whole, int(str(chosen.get("max_message_length", 1950))))
    same(whole, run(pieces(text, cuts) or [""], ending=ending, **chosen))
    if len(text) < 600:
        same(whole, run(list(text) or [""], ending=ending, **chosen))


UNIQUE = [chr(0x4E00 + n) for n in range(20_000)]  # each appears at most once in a text
BETWEEN = ["<think>", "</think>", "<details>", "</details>", "\n```\n", "**", "||", "`", "\n\n", " ",
           ". ", "\n", "_", "~~", "> ", "- ", "| ", "<think/>"]  # fmt: skip


def tracer(rng: random.Random) -> str:
    letters = iter(UNIQUE)
    parts = []
    for _ in range(rng.choice([1, 2, 4, 8, 16, 40])):
        run_of = rng.choice([1, 1, 1, 2, 2, 3, 3, 30, 65, 400])
        parts.append("".join(itertools.islice(letters, run_of)))
        parts.append(rng.choice(BETWEEN) * rng.choice([1, 1, 1, 2, 3]))
    return "".join(parts)


def letters_of(text: str) -> list[str]:
    return [char for char in text if char >= UNIQUE[0]]


def check_tracer(rng: random.Random) -> None:
    text = tracer(rng)
    chosen = rng.choice(SETTINGS[:9])
    cuts = [rng.randrange(10**6) for _ in range(5)]
    done = run(pieces(text, cuts), **{"clean_off": list(RULES), **chosen})
    audit(done, text)
    fits(done, int(str(chosen.get("max_message_length", 1950))))
    # Every unique character is in exactly one place, by its face and not by our books.
    said = letters_of(text)
    shown = letters_of("".join(done.messages))
    aside = letters_of("".join(done.thoughts) + "".join(done.details))
    assert sorted(shown) == shown, "out of order"
    found = set(shown) | set(aside)
    assert len(found) == len(shown) + len(aside), "doubled"
    missing = set(said) - found
    assert len(missing) <= sum(done.result.suppressed.values())
    assert not missing or "send_message_limit" in chosen, sorted(missing)[:5]


def test_p03_p04_every_unique_character_arrives_once_and_in_order() -> None:
    for seed in seeds(250):
        with dice(seed) as rng:
            check_tracer(rng)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(20))
def test_p03_p04_100_000_tracers(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(5_000, part):
        with dice(seed) as rng:
            check_tracer(rng)
    figure("P3: 5,000 tracer texts")


BITS = ["a", " ", ".", "\n", "`", "<", "<think>", "</think>", "\n```\n", "**", "(", "word "]


def check_chunking(rng: random.Random) -> int:
    """Whole, in pieces and one by one; how many chunks that were."""
    long = rng.random() < 0.014  # most faults hide in short texts, some only in long runs
    runs = [1, 1, 2, 3, 64, 65, 130] if long else [1, 1, 1, 2, 3]
    text = "".join(rng.choice(BITS) * rng.choice(runs) for _ in range(rng.randint(1, 14)))
    some = pieces(text, [rng.randrange(10**6) for _ in range(3)])
    whole = run([text])
    same(whole, run(some))
    same(whole, run(list(text)))
    return 1 + len(some) + len(text)


def test_p02_chunking_does_not_matter() -> None:
    for seed in seeds(250):
        with dice(seed) as rng:
            check_chunking(rng)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(50))
def test_p02_ten_million_chunks(part: int, figure: Callable[[str], None]) -> None:
    """In all parts together, of 250,000 texts."""
    cases = chunks = 0
    for seed in seeds(5_000, part):
        with dice(seed) as rng:
            chunks += check_chunking(rng)
            cases += 1
    figure(f"P2: {cases:,} texts, {chunks:,} chunks")
    assert chunks >= 200_000


def test_p08_same_in_same_out_whatever_the_hash_seed() -> None:
    program = (
        "from minamo.core.chunks import TextChunk; from minamo.core.config import StreamConfig;"
        "from minamo.inspect.replay import replay; from minamo.core.trace import Moment, Trace;"
        "t = 'A (b) **c** <think>d</think>\\n\\n```py\\ne\\n```\\n[f](http://g) @h ' * 50;"
        "c = StreamConfig(degree=3, mentions={'h': '1'}, humanize_seed=4);"
        "print(replay(Trace(c, (Moment(0, 'chunk', chunk=TextChunk(t)), Moment(0, 'end')))).summary())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "99")
    }  # fmt: skip
    assert len(outputs) == 1


def test_a_stop_at_the_time_of_a_chunk_is_taken_first() -> None:
    chunk = Moment(1.0, "chunk", chunk=TextChunk("b"))
    trace = Trace(
        StreamConfig(), (Moment(0.0, "chunk", chunk=TextChunk("a")), Moment(1.0, "stop"), chunk)
    )
    assert replay(trace).messages == ("a",)


FACTS: dict[str, Callable[[Stream], None]] = {
    "text": lambda s: s.chunk(TextChunk("Hello there.\n\nMore <thi")),
    "marker": lambda s: s.chunk(TextChunk("nk>x</think>\n```py\n1\n```\n")),
    "call": lambda s: s.chunk(FunctionCall((Call("f"),))),
    "error": lambda s: s.chunk(ErrorChunk("api_error")),
    "done": lambda s: s.chunk(DoneChunk("stop")),
    "end": lambda s: s.end(),
    "stop": lambda s: s.stop("7"),
    "follow_up": lambda s: s.follow_up(),
    "silence": lambda s: s.ran_out("inactivity"),
    "kill": lambda s: s.kill(),
    "lost": lambda s: s.delivery_lost(),
    "limit": lambda s: s.limit_reached(),
    "overran": lambda s: s.ran_out("deadline"),
    "flushed": lambda s: s.flushed(),
    "send": lambda s: s.delivered(len(s.actions.outbox.take())),
}
NAMES = sorted(FACTS)
CORE = ["text", "marker", "call", "error", "end", "stop", "follow_up", "flushed"]
PARTS = 4


def live_through(facts: list[str]) -> Stream:
    stream = Stream(StreamConfig(humanize=False))
    outcome = ""
    for fact in facts:
        FACTS[fact](stream)
        if outcome:
            assert stream.state == outcome, facts
        elif stream.ended:
            outcome = stream.state
    if not stream.ended:
        stream.end()
        stream.delivered(len(stream.actions.outbox.take()))
        stream.flushed()
    assert stream.ended
    assert stream.result().status == stream.state
    assert stream.result().states[-1] == stream.state
    return stream


@given(st.lists(st.sampled_from(NAMES), max_size=50))
def test_p01_any_facts_in_any_order_give_one_outcome(facts: list[str]) -> None:
    live_through(facts)


def test_p01_every_short_sequence_of_facts() -> None:
    outcomes = Counter(
        live_through(list(facts)).state
        for length in range(4)
        for facts in itertools.product(CORE, repeat=length)
    )
    assert {"completed", "function_call", "error", "stopped_by_user", "follow_up_interrupt",
            "empty_response"} <= set(outcomes)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", ["", *CORE])
def test_p01_every_sequence_of_facts_up_to_five(first: str, figure: Callable[[str], None]) -> None:
    count = 0
    for length in range(5) if first else [0]:
        for facts in itertools.product(CORE, repeat=length):
            live_through([first, *facts] if first else [])
            count += 1
    figure(f"P1: {count:,} sequences of facts that begin with {first or 'nothing'}")
    assert count == (4_681 if first else 1)  # 37,449 in all


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_p01_20_000_long_lists_of_facts(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(20_000 // PARTS, part):
        with dice(seed) as rng:
            live_through(rng.choices(NAMES, k=rng.randint(0, 50)))
    figure(f"P1: {20_000 // PARTS:,} random lists of up to 50 facts")


#: Degree 0 keeps the reply in one message, so that what was said can be compared as it is.
WHOLE = StreamConfig(degree=0)


class Odd:
    """An object whose attributes all raise."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("canary")

    __repr__ = __str__ = lambda self: (_ for _ in ()).throw(RuntimeError("canary"))  # type: ignore[assignment]


class OwnText(TextChunk):
    pass


class OwnError(ErrorChunk):
    pass


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4),
    st.sampled_from([10**400, -(10**400), math.nan, math.inf, -1, (), [], {}, "rate_limit", "x" * 999]),
    st.builds(Odd), st.builds(object), st.sampled_from([Odd, TextChunk, len]),
    st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=3),
    st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=3).map(tuple),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.none(), max_size=2),
)  # fmt: skip
CALLS = st.builds(Call, VALUES, VALUES, VALUES, VALUES)
ALL_CALLS = st.one_of(VALUES, st.lists(st.one_of(CALLS, VALUES), max_size=3).map(tuple))
USAGES = st.one_of(VALUES, st.builds(Usage, VALUES, VALUES, VALUES, VALUES))
CHUNKS = st.one_of(
    st.builds(TextChunk, VALUES, VALUES, overlap=VALUES),
    st.builds(OwnText, VALUES, VALUES),
    st.builds(FunctionCall, ALL_CALLS, VALUES, USAGES, VALUES),
    st.builds(ErrorChunk, VALUES, VALUES, VALUES, VALUES, VALUES, VALUES),
    st.builds(OwnError, VALUES, VALUES, VALUES, VALUES),
    st.builds(DoneChunk, VALUES, USAGES, VALUES, VALUES, VALUES, VALUES),
    # Objects without their fields; a text chunk is a Struct, and those always have them.
    st.sampled_from([FunctionCall, ErrorChunk, DoneChunk]).map(object.__new__),
)
YIELDED = st.one_of(VALUES, CHUNKS)


class Source:
    """Says a word, then whatever it was given, and raises when it is closed if it is told to."""

    def __init__(self, said: list[Any], *, rude: bool = False) -> None:
        self.said = said
        self.rude = rude

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            yield "before"
            for each in self.said:
                yield each
        finally:
            if self.rude:
                raise RuntimeError("canary")


class Foreign(Adapter):
    """The same as an adapter of other people, whose hooks raise."""

    def __init__(self, said: list[Any]) -> None:
        self.said = said
        self.errors: list[ErrorChunk] = []

    async def start_stream(self, _: Any) -> AsyncIterator[Frame]:
        yield Frame("before")
        for each in self.said:
            yield Frame(each)

    def process_chunk(self, frame: Frame) -> list[Any]:
        return [frame.data]

    def on_raw_chunk(self, _: Frame) -> None:
        raise RuntimeError("canary")

    def on_provider_error(self, error: ErrorChunk) -> None:
        self.errors.append(error)
        raise RuntimeError("canary")


@given(YIELDED)
def test_the_border_lets_only_valid_chunks_through(said: Any) -> None:
    chunk, problem = as_chunk(said)
    assert type(chunk) in (TextChunk, FunctionCall, ErrorChunk, DoneChunk)
    assert find_problem(chunk) == ""
    assert "canary" not in problem + repr(chunk)
    assert not problem or type(chunk) is ErrorChunk


@given(st.lists(YIELDED, max_size=4), st.booleans())
def test_a_stream_of_anything_never_raises_and_shows_what_came_before(
    said: list[Any], rude: bool
) -> None:
    chunks = [as_chunk(each)[0] for each in said]
    wrong = next((chunk for chunk in chunks if type(chunk) is ErrorChunk), None)
    called = next((chunk for chunk in chunks if type(chunk) is FunctionCall), None)
    for source in (Source(said, rude=rude), ChatStream(Foreign(said), None)):
        heard = run_with_virtual_clock(lambda source=source: listen(source, WHOLE))  # type: ignore[misc]
        result = heard.result
        assert "".join(heard.messages).startswith("before")
        if wrong is not None and (called is None or chunks.index(wrong) < chunks.index(called)):
            assert (result.status, type(result.data)) == ("error", ErrorChunk)
            assert result.data == wrong or "AttributeError" in result.data.message
            assert notice_for(result, Languages().wording()) is not None
        elif called is not None:
            assert result.status == "function_call"
        else:
            raised = rude and isinstance(source, Source)  # at its end, so that it has failed
            assert result.status == ("error" if raised else "completed")


@given(YIELDED)
def test_retries_and_fallbacks_take_anything(said: Any) -> None:
    for source in (retry(Silent(said), backoff_s=0.1), fallback(Silent(said), Source([]))):
        heard = run_with_virtual_clock(lambda source=source: listen(source, WHOLE))  # type: ignore[misc]
        text = "".join(heard.messages)
        assert text.count("before") <= 1


class Silent:
    """Yields one thing and nothing before it."""

    def __init__(self, said: Any) -> None:
        self.said = said

    async def __aiter__(self) -> AsyncIterator[Any]:
        yield self.said


@given(st.lists(YIELDED, min_size=1, max_size=4))
def test_an_adapter_is_told_of_the_one_error(said: list[Any]) -> None:
    adapter = Foreign(said)

    async def read() -> list[Any]:
        return [chunk async for chunk in ChatStream(adapter, None)]

    chunks = run_with_virtual_clock(read)
    errors = [chunk for chunk in chunks if type(chunk) is ErrorChunk]
    assert adapter.errors == errors == ([chunks[-1]] if errors else [])
