"""Trying again and trying another, in virtual time; and providers without a network."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from minamo.core.chunks import Call, Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.errors import BadRequest, BadTrace
from minamo.shell.providers.retry import fallback, retry
from minamo.shell.providers.scripted import ScriptedProvider, as_chunks

pytestmark = pytest.mark.anyio
BUSY = ErrorChunk("rate_limit", "slow down", retryable=True, retry_after=7.0)
DOWN = ErrorChunk("provider_overloaded", "busy", retryable=True)
WRONG = ErrorChunk("api_error", "no such model")
BLOCKED = ErrorChunk("content_blocked", "no")
HELLO = [TextChunk("", ("Hm.",)), TextChunk("Hello"), DoneChunk("stop")]


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


class Attempts:
    """A conversation that goes differently each time."""

    def __init__(self, *scripts: list[Any]) -> None:
        self.scripts = list(scripts)
        self.asked = 0

    def __aiter__(self) -> AsyncIterator[Chunk]:
        self.asked += 1
        return aiter(ScriptedProvider(self.scripts[min(self.asked, len(self.scripts)) - 1]))


async def told(conversation: Any) -> list[Chunk]:
    return [chunk async for chunk in conversation]


@pytest.mark.parametrize(
    ("scripts", "options", "chunks", "asked", "seconds"),
    [
        ([HELLO], {}, HELLO, 1, 0),
        ([[BUSY], HELLO], {}, HELLO, 2, 7),
        ([[DOWN], [DOWN], HELLO], {}, HELLO, 3, 1.5),
        ([[DOWN]], {}, [DOWN], 3, 1.5),
        ([[DOWN]], {"attempts": 1}, [DOWN], 1, 0),
        ([[DOWN]], {"attempts": 9, "wait_max_s": 1}, [DOWN], 9, 7.5),
        ([[BUSY], HELLO], {"wait_max_s": 5}, [BUSY], 1, 0),
        ([[WRONG], HELLO], {}, [WRONG], 1, 0),
        # A thought is not visible; the next attempt may think again.
        ([[TextChunk("", ("Hm.",)), BUSY], HELLO], {}, [TextChunk("", ("Hm.",)), *HELLO], 2, 7),
        ([[TextChunk(""), BUSY], HELLO], {}, [TextChunk(""), *HELLO], 2, 7),
        # Once anything was said, an error is final.
        ([[TextChunk("He"), BUSY], HELLO], {}, [TextChunk("He"), BUSY], 1, 0),
        ([[FunctionCall((Call("a"),)), BUSY], HELLO], {}, [FunctionCall((Call("a"),)), BUSY], 1, 0),
    ],
)
async def test_retry(scripts: Any, options: Any, chunks: Any, asked: int, seconds: float) -> None:
    attempts = Attempts(*scripts)
    begin = anyio.current_time()

    assert await told(retry(attempts, **options)) == chunks
    assert attempts.asked == asked
    assert anyio.current_time() - begin == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("scripts", "chunks", "asked"),
    [
        ([HELLO, [BUSY]], HELLO, [1, 0]),
        ([[BUSY], HELLO], HELLO, [1, 1]),
        ([[WRONG], [DOWN], HELLO], HELLO, [1, 1, 1]),
        ([[BUSY], [WRONG]], [WRONG], [1, 1]),
        ([[BLOCKED], HELLO], [BLOCKED], [1, 0]),
        ([[TextChunk("He"), BUSY], HELLO], [TextChunk("He"), BUSY], [1, 0]),
        ([[BUSY]], [BUSY], [1]),
    ],
)
async def test_fallback(scripts: Any, chunks: Any, asked: list[int]) -> None:
    conversations = [Attempts(script) for script in scripts]

    assert await told(fallback(*conversations)) == chunks
    assert [conversation.asked for conversation in conversations] == asked


async def test_both_together() -> None:
    first, second = Attempts([DOWN]), Attempts([BUSY], HELLO)

    assert await told(fallback(retry(first), retry(second))) == HELLO
    assert (first.asked, second.asked) == (3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attempts": 0}, "attempts must be a whole number, 1 to 100; it is 0"),
        ({"attempts": 2.5}, "attempts must be a whole number, 1 to 100; it is 2.5"),
        ({"attempts": True}, "it is True"),
        ({"attempts": 10**400}, "it is a number far beyond that"),
        ({"attempts": "3"}, "it is '3'"),
        ({"wait_max_s": -1}, "wait_max_s must be a number of seconds"),
        ({"wait_max_s": math.nan}, "it is nan"),
        ({"wait_max_s": math.inf}, "it is inf"),
        ({"backoff_s": -1}, "backoff_s must be a number of seconds"),
        ({"backoff_s": None}, "it is None"),
    ],
)
def test_retry_that_makes_no_sense(options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=f"^retry: .*{message}"):
        retry(ScriptedProvider(["a"]), **options)


async def test_what_cannot_be_asked_again_is_refused() -> None:
    async def once() -> AsyncIterator[str]:
        yield "a"

    source = once()
    with pytest.raises(BadRequest, match="a async_generator can be iterated once"):
        retry(source)
    assert await told(fallback(Attempts([WRONG]), source)) == [TextChunk("a")]
    for wrong in (lambda: retry("a"), lambda: fallback(ScriptedProvider(["a"]), None)):  # type: ignore[arg-type]
        with pytest.raises(BadRequest, match="takes conversations, such as"):
            wrong()


class Own:
    """A source of other people, which gives text and then fails."""

    def __init__(self, *said: Any) -> None:
        self.said = said
        self.asked = 0

    async def __aiter__(self) -> AsyncIterator[Any]:
        self.asked += 1
        for each in self.said:
            if isinstance(each, Exception):
                raise each
            yield each


async def test_text_of_a_plain_source_is_text() -> None:
    """What was said once is not said again, whoever said it."""
    source = Own("He", BUSY)
    assert await told(retry(source)) == [TextChunk("He"), BUSY]
    assert source.asked == 1
    assert await told(fallback(source, ScriptedProvider(["Hi"]))) == [TextChunk("He"), BUSY]


async def test_a_source_that_raises_has_failed() -> None:
    assert await told(fallback(Own(OSError("no")), Attempts(HELLO))) == HELLO
    source = Own(OSError("no"))
    assert await told(retry(source)) == [ErrorChunk("api_error", "the provider failed (OSError)")]
    assert source.asked == 1


async def test_odd_waits_of_a_source_are_no_waits() -> None:
    odd = ErrorChunk("rate_limit", "slow", True, "soon")  # type: ignore[arg-type]
    begin = anyio.current_time()
    assert (await told(retry(Own(odd), attempts=2)))[-1] == ErrorChunk("rate_limit", "slow", True)
    assert anyio.current_time() - begin == pytest.approx(0.5)
    assert (await told(retry(Own(DOWN), attempts=100, backoff_s=1, wait_max_s=0)))[-1] == DOWN


async def test_a_failed_attempt_is_closed_before_the_wait() -> None:
    closed_at: list[float] = []

    class Watched:
        async def __aiter__(self) -> AsyncIterator[Chunk]:
            try:
                yield BUSY
            finally:
                closed_at.append(anyio.current_time())

    begin = anyio.current_time()
    await told(retry(Watched(), attempts=2))
    assert [at - begin for at in closed_at] == [0, 7]


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
    assert "raised RuntimeError at test_retry.py:" in caplog.text
    assert "canary" not in caplog.text
    assert [c async for c in as_chunks(ScriptedProvider(["a", DoneChunk()]))] == [
        TextChunk("a"),
        DoneChunk(),
    ]
