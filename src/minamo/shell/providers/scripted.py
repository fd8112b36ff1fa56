"""Providers without a network: a script, a recorded trace, or any iterable of text.

`as_chunks` is also how the driver reads every source: it validates items and turns exceptions
into an error chunk.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import Any

import anyio
from attrs import field, frozen

from minamo.core.checks import SECONDS_MAX, is_seconds
from minamo.core.chunks import (
    MESSAGE_CHARS_MAX,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
)
from minamo.core.contract import TEXT_MAX, as_chunk, find_problem, split_text
from minamo.core.redact import shorten
from minamo.core.trace import read_trace
from minamo.errors import BadRequest
from minamo.shell.callbacks import place_of, user_frames
from minamo.shell.providers.base import CheckedSource, closing
from minamo.shell.providers.sdk_streams import SdkStream, SourceItem, error_of
from minamo.wire.assembler import ChunkOverlap

_LOG = logging.getLogger("minamo.stream")

Line = str | Chunk | tuple[float, str | Chunk]
"""A text or chunk, immediate or after a delay in seconds."""


def _chunk(output: object) -> Chunk:
    if isinstance(output, str):
        return TextChunk(output)
    if isinstance(output, TextChunk | FileChunk | FunctionCall | ErrorChunk | DoneChunk):
        return output
    raise BadRequest(find_problem(output))


def _timed(lines: Iterable[Line]) -> tuple[tuple[float, Chunk], ...]:
    out = []
    for line in lines:
        delay, output = line if isinstance(line, tuple) else (0.0, line)
        out.append((_seconds(delay), _chunk(output)))
    return tuple(out)


def _seconds(delay: object) -> float:
    if not is_seconds(delay):
        raise BadRequest(f"a delay is a number of seconds, 0 to {SECONDS_MAX}")
    return float(delay)  # type: ignore[arg-type]  # just checked


@frozen(slots=True)
class ScriptedProvider:
    """A provider that repeats its script on each call.  Its delays work with virtual time."""

    lines: tuple[tuple[float, Chunk], ...] = field(converter=_timed, repr=False)
    hangs: bool = False
    """At the end of the script, wait forever instead of ending."""

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Yield the chunks of the script after their delays."""
        for delay, chunk in self.lines:
            # Also for a delay of 0: other tasks must run between two chunks.
            await anyio.sleep(delay)
            yield chunk
        if self.hangs:
            await anyio.sleep_forever()

    def ask(self, _text: str, **_options: Any) -> ScriptedProvider:
        """Return the script; the arguments are ignored."""
        return self

    def chat(self, _messages: Iterable[Any], **_options: Any) -> ScriptedProvider:
        """Return the script; the arguments are ignored."""
        return self

    @classmethod
    def from_trace(cls, trace: str) -> ScriptedProvider:
        """Return a provider that replays the chunks of a trace at their recorded times."""
        script: list[Line] = []
        before, ended = 0.0, False
        for moment in read_trace(trace.split("\n")).moments:
            ended = ended or moment.event == "end"
            if moment.chunk is not None and not ended:
                script.append((moment.at - before, moment.chunk))
                before = moment.at
        return cls(script, hangs=not ended)


def check_source(source: object) -> None:
    """Refuse a source that is not an async iterable, and suggest what to write instead."""
    if not isinstance(source, AsyncIterable):
        raise BadRequest(
            f"a reply comes from an async iterable of text, such as llm.ask(…); "
            f"this is of type {type(source).__name__}{_instead(source)}"
        )


def _instead(source: object) -> str:
    if inspect.isasyncgenfunction(source):
        return f": call it, {source.__name__}(…)"
    if inspect.iscoroutinefunction(source) or inspect.iscoroutine(source):
        return ": await it if it gives a stream, or `yield` in it instead of `return`"
    if hasattr(source, "ask"):
        return ": ask it something, .ask(…)"
    if isinstance(source, str):
        return ": yield it from an `async def`, or send it with hikari"
    if isinstance(source, Iterable):
        return ": make it async, `async def` with `yield`; an SDK has an async client for that"
    return ""


def as_chunks(
    source: AsyncIterable[SourceItem], *, overlap: ChunkOverlap | None = None
) -> AsyncGenerator[Chunk, None]:
    """Yield the items of any iterable of text or chunks as valid chunks.

    An exception, or an item that is neither text nor a valid chunk, becomes a final error chunk.
    With *overlap*, text that repeats the end of the previous chunk is removed.
    """
    if overlap is None and isinstance(source, CheckedSource):
        return source.__aiter__()
    return _checked(source, overlap)


async def _checked(
    source: AsyncIterable[SourceItem], overlap: ChunkOverlap | None
) -> AsyncGenerator[Chunk, None]:
    failure: ErrorChunk | None = None
    try:
        if not isinstance(source, AsyncIterable):
            raise BadRequest(f"no async iterable of text, but a {type(source).__name__}")  # noqa: TRY301
        async with closing(source) as items, SdkStream(source) as sdk:
            async for item in items:
                if item.__class__ is str and overlap is None and len(item) <= TEXT_MAX:
                    yield TextChunk(item)  # as nearly always
                    continue
                for output in sdk.read(item):
                    chunk, problem = as_chunk(output)
                    if problem:
                        _LOG.warning("the source of a reply is wrong: %s", problem)
                    for part in split_text(chunk if overlap is None else overlap.take(chunk)):
                        yield part
                    if chunk.__class__ is ErrorChunk:
                        return
            for chunk in sdk.end():
                yield chunk
    except BadRequest as error:  # our own message, safe to show
        words = shorten(str(error), MESSAGE_CHARS_MAX)
        _LOG.warning("the source of a reply is wrong: %s", words)
        failure = ErrorChunk("api_error", f"the provider failed: {words}")
    except Exception as error:  # noqa: BLE001 - user code; its failure ends the stream
        # Not the exception's message, which can hold secrets; `on_error` gets the exception.
        kind = type(error).__name__
        frames = user_frames(error)
        _LOG.warning("the source of a reply raised %s at %s%s", kind, place_of(error), frames)
        failure = error_of(error) or ErrorChunk(
            "api_error", f"the provider failed ({kind})", cause=error
        )
    if failure is not None:
        yield failure
