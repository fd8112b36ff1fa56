"""Providers without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
import trio.testing

from minamo.core.chunks import Call, Chunk, Done, Error, FunctionCall, Text, Usage
from minamo.errors import BadRequest, BadTrace
from minamo.shell.providers.scripted import Scripted, as_chunks

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def timed(conversation: Any) -> list[tuple[float, Chunk]]:
    begin = anyio.current_time()
    return [(anyio.current_time() - begin, chunk) async for chunk in conversation]


async def test_a_script_keeps_its_times_and_can_be_asked_again() -> None:
    script = Scripted(["a", (1.5, "b"), (2, Error("timeout"))])

    expected = [(0, Text("a")), (1.5, Text("b")), (3.5, Error("timeout"))]
    assert await timed(script.ask("anything")) == expected
    assert await timed(script.chat([])) == expected


async def test_a_script_may_fall_silent() -> None:
    found = []
    with anyio.move_on_after(100) as scope:
        async for chunk in Scripted(["a"], hangs=True):
            found.append(chunk)  # noqa: PERF401 - what came before the silence counts

    assert scope.cancelled_caught
    assert found == [Text("a")]


@pytest.mark.parametrize("line", [7, (1, 2, 3), (-1, "a"), (float("nan"), "a"), ("1", "a"), None])
def test_scripts_that_are_none(line: Any) -> None:
    with pytest.raises((BadRequest, ValueError)):
        Scripted([line])


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
    assert await timed(Scripted.from_trace(TRACE)) == [
        (0.5, Text("Hi", ("Hm.",))),
        (2, FunctionCall((Call("roll", {"sides": 6}),))),
        (2, FunctionCall((Call("a"), Call("b")))),
        (3, Error("rate_limit", "m", True)),
        (3, Done("stop", Usage(3))),
    ]
    assert Scripted.from_trace('{"chunk": {"type": "text"}}').hangs


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"t": "x"}', '{"chunk": {}}', '{"chunk": {"type": "x"}}', '{"chunk": 7}'],
)
def test_traces_that_are_none(line: str) -> None:
    with pytest.raises(BadTrace, match="line 2: "):
        Scripted.from_trace("\n" + line)


async def test_any_iterable_of_text_is_a_provider() -> None:
    closed = False

    async def source() -> AsyncIterator[Any]:
        nonlocal closed
        try:
            yield "Hel"
            yield Text("lo")
            yield 7
            yield "never"
        finally:
            closed = True

    assert [chunk async for chunk in as_chunks(source())] == [
        Text("Hel"),
        Text("lo"),
        Error(
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
    assert isinstance(error, Error)
    assert "this gave None; leave those out" in error.message
    assert "this gave None; leave those out" in caplog.text


@pytest.mark.parametrize("given", [None, "text", 5])
async def test_what_is_no_source_is_named(given: Any) -> None:
    (error,) = [chunk async for chunk in as_chunks(given)]
    assert isinstance(error, Error)
    assert "no async iterable of text, but a " + type(given).__name__ in error.message


async def test_what_it_throws_is_an_error_chunk_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def source() -> AsyncIterator[str]:
        yield "a"
        raise RuntimeError("canary")

    chunks = [chunk async for chunk in as_chunks(source())]
    assert chunks == [Text("a"), Error("api_error", "the provider failed (RuntimeError)")]
    assert "raised RuntimeError at test_scripted.py:" in caplog.text
    assert "canary" not in caplog.text
    assert [c async for c in as_chunks(Scripted(["a", Done()]))] == [Text("a"), Done()]
