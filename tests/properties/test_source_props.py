"""Whatever a source yields: the stream never raises, and what came before is shown."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk, find_problem
from minamo.shell.notices.localization import Languages
from minamo.shell.notices.notices import notice_for
from minamo.shell.providers.base import Adapter, ChatStream
from minamo.shell.providers.retry import fallback, retry
from minamo.testing import listen, run_with_virtual_clock
from minamo.wire.frames import Frame

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
    st.sampled_from([TextChunk, FunctionCall, ErrorChunk, DoneChunk]).map(object.__new__),
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
