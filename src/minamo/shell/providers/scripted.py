"""Providers without a network: a script, a recorded trace, or any iterable of text."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from typing import Any

import anyio
from attrs import field, frozen

from minamo.core.checks import SECONDS_MAX, is_seconds
from minamo.core.chunks import (
    MESSAGE_CHARS_MAX,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FunctionCall,
    TextChunk,
)
from minamo.core.contract import as_chunk, find_problem
from minamo.core.redact import shorten
from minamo.core.trace import read_trace
from minamo.errors import BadRequest
from minamo.shell.callbacks import place_of
from minamo.shell.providers.endpoint import closing
from minamo.wire.assembler import ChunkOverlap

_LOG = logging.getLogger("minamo.stream")

# The event loop has other work to do than to read this much text at once.
TEXT_MAX = 2_000

Line = str | Chunk | tuple[float, str | Chunk]
"""A text or chunk, at once or after some seconds."""


def _chunk(said: object) -> Chunk:
    if isinstance(said, str):
        return TextChunk(said)
    if isinstance(said, TextChunk | FunctionCall | ErrorChunk | DoneChunk):
        return said
    raise BadRequest(find_problem(said))


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    """Yield *chunk*, or if it has a lot of text several chunks with the same."""
    if not isinstance(chunk, TextChunk) or len(chunk.content) <= TEXT_MAX:
        yield chunk
        return
    for at in range(0, len(chunk.content), TEXT_MAX):
        part = chunk.content[at : at + TEXT_MAX]
        yield TextChunk(part) if at else TextChunk(part, chunk.thoughts, overlap=chunk.overlap)


def _timed(lines: Iterable[Line]) -> tuple[tuple[float, Chunk], ...]:
    out = []
    for line in lines:
        delay, said = line if isinstance(line, tuple) else (0.0, line)
        out.append((_seconds(delay), _chunk(said)))
    return tuple(out)


def _seconds(delay: object) -> float:
    if not is_seconds(delay):
        raise BadRequest(f"a delay is a number of seconds, 0 to {SECONDS_MAX}")
    return float(delay)  # type: ignore[arg-type]  # just looked at


@frozen(slots=True)
class ScriptedProvider:
    """Says the same every time it is asked.  Waits are anyio's, so virtual time works."""

    lines: tuple[tuple[float, Chunk], ...] = field(converter=_timed, repr=False)
    hangs: bool = False
    """At the end of the script, fall silent instead of ending."""

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """The script, with its pauses."""
        for delay, chunk in self.lines:
            # Also without a pause: others must get their turn between two chunks.
            await anyio.sleep(delay)
            yield chunk
        if self.hangs:
            await anyio.sleep_forever()

    def ask(self, _text: str, **_options: Any) -> ScriptedProvider:
        """The script, whatever is asked."""
        return self

    def chat(self, _messages: Iterable[Any], **_options: Any) -> ScriptedProvider:
        """The script, whatever was said before."""
        return self

    @classmethod
    def from_trace(cls, trace: str) -> ScriptedProvider:
        """The provider's part of a trace: its chunks, at its times."""
        script: list[Line] = []
        said, ended = 0.0, False
        for moment in read_trace(trace.split("\n")).moments:
            ended = ended or moment.event == "end"
            if moment.chunk is not None and not ended:
                script.append((moment.at - said, moment.chunk))
                said = moment.at
        return cls(script, hangs=not ended)


async def as_chunks(
    source: AsyncIterable[str | Chunk], *, overlap: ChunkOverlap | None = None
) -> AsyncGenerator[Chunk, None]:
    """Yield what any iterable of text or chunks yields, as chunks that keep their contract.

    What it throws, or what is neither text nor a valid chunk, becomes an error chunk, the last.
    With *overlap*, text that repeats the end of the chunk before is removed.
    """
    failure: ErrorChunk | None = None
    try:
        if not isinstance(source, AsyncIterable):
            raise BadRequest(f"no async iterable of text, but a {type(source).__name__}")  # noqa: TRY301
        async with closing(source) as items:
            async for item in items:
                chunk, problem = as_chunk(item)
                if problem:
                    _LOG.warning("the source of a reply is wrong: %s", problem)
                for part in _parts(chunk if overlap is None else overlap.take(chunk)):
                    yield part
                if chunk.__class__ is ErrorChunk:
                    return
    except BadRequest as error:  # our own words
        words = shorten(str(error), MESSAGE_CHARS_MAX)
        _LOG.warning("the source of a reply is wrong: %s", words)
        failure = ErrorChunk("api_error", f"the provider failed: {words}")
    except Exception as error:  # noqa: BLE001 - somebody else's generator; its failure is a fact
        # The name and the place only: messages can hold secrets.
        kind = type(error).__name__
        _LOG.warning("the source of a reply raised %s at %s", kind, place_of(error))
        failure = ErrorChunk("api_error", f"the provider failed ({kind})")
    if failure is not None:
        yield failure
