"""Providers without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
import trio.testing

from minamo.core.chunks import Call, Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.errors import BadRequest, BadTrace
from minamo.shell.providers.scripted import ScriptedProvider, as_chunks

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def timed(conversation: Any) -> list[tuple[float, Chunk]]:
    begin = anyio.current_time()
    return [(anyio.current_time() - begin, chunk) async for chunk in conversation]


async def test_a_script_keeps_its_times_and_can_be_asked_again() -> None:
    script = ScriptedProvider(["a", (1.5, "b"), (2, ErrorChunk("timeout"))])

    expected = [(0, TextChunk("a")), (1.5, TextChunk("b")), (3.5, ErrorChunk("timeout"))]
    assert await timed(script.ask("anything")) == expected
    assert await timed(script.chat([])) == expected


async def test_a_script_may_fall_silent() -> None:
    found = []
    with anyio.move_on_after(100) as scope:
        async for chunk in ScriptedProvider(["a"], hangs=True):
            found.append(chunk)  # noqa: PERF401 - what came before the silence counts

    assert scope.cancelled_caught
    assert found == [TextChunk("a")]


@pytest.mark.parametrize("line", [7, (1, 2, 3), (-1, "a"), (float("nan"), "a"), ("1", "a"), None])
def test_scripts_that_are_none(line: Any) -> None:
    with pytest.raises((BadRequest, ValueError)):
        ScriptedProvider([line])


TRACE = """
{"settings": {"degree": 1}}
{"t": 0.5, "chunk": {"type": "text", "content": "Hi", "thoughts": ["Hm."]}}
{"stop": {"kind": "user"}}
{"t": 2, "chunk": {"type": "function_call", "name": "roll", "arguments": {"sides": 6}}}
{"chunk": {"type": "function_call", "calls": [{"name": "a"}, {"name": "b", "arguments": {}}]}}
{"t": 3, "chunk": {"type": "error", "kind": "rate_limit", "message": "m", "retryable": true}}
{"chunk": {"type": "done", "finish_reason": "stop", "usage": {"input_tokens": 3}}}
{"t": 4, "end": true}
{"t": 5, "chunk": {"type": "text", "content": "late"}}
"""


async def test_a_trace_is_a_script() -> None:
    assert await timed(ScriptedProvider.from_trace(TRACE)) == [
        (0.5, TextChunk("Hi", ("Hm.",))),
        (2, FunctionCall((Call("roll", {"sides": 6}),))),
        (2, FunctionCall((Call("a"), Call("b")))),
        (3, ErrorChunk("rate_limit", "m", True)),
        (3, DoneChunk("stop", Usage(3))),
    ]
    assert ScriptedProvider.from_trace('{"chunk": {"type": "text"}}').hangs


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"t": "x"}', '{"chunk": {}}', '{"chunk": {"type": "x"}}', '{"chunk": 7}'],
)
def test_traces_that_are_none(line: str) -> None:
    with pytest.raises(BadTrace, match="line 2: "):
        ScriptedProvider.from_trace("\n" + line)


async def test_any_iterable_of_text_is_a_provider() -> None:
    closed = False

    async def source() -> AsyncIterator[Any]:
        nonlocal closed
        try:
            yield "Hel"
            yield TextChunk("lo")
            yield 7
            yield "never"
        finally:
            closed = True

    assert [chunk async for chunk in as_chunks(source())] == [
        TextChunk("Hel"),
        TextChunk("lo"),
        ErrorChunk(
            "api_error",
            "the provider failed: a source gives text, and this gave a int; give the text in it",
        ),
    ]
    assert closed


async def test_a_source_that_gives_none_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def source() -> AsyncIterator[Any]:
        yield "a"
        yield None  # as the last chunk of an SDK has it

    *_, error = [chunk async for chunk in as_chunks(source())]
    assert isinstance(error, ErrorChunk)
    assert "this gave None; leave those out" in error.message
    assert "this gave None; leave those out" in caplog.text


@pytest.mark.parametrize("given", [None, "text", 5])
async def test_what_is_no_source_is_named(given: Any) -> None:
    (error,) = [chunk async for chunk in as_chunks(given)]
    assert isinstance(error, ErrorChunk)
    assert "no async iterable of text, but a " + type(given).__name__ in error.message


async def test_what_it_throws_is_an_error_chunk_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = "can" + "ary"  # frames show code, not values

    async def source() -> AsyncIterator[str]:
        yield "a"
        raise RuntimeError(words)

    words = "canary"
    chunks = [chunk async for chunk in as_chunks(source())]
    assert chunks == [TextChunk("a"), ErrorChunk("api_error", "the provider failed (RuntimeError)")]
    assert "raised RuntimeError at test_scripted.py:" in caplog.text
    assert "canary" not in caplog.text
    assert [c async for c in as_chunks(ScriptedProvider(["a", DoneChunk()]))] == [
        TextChunk("a"),
        DoneChunk(),
    ]
