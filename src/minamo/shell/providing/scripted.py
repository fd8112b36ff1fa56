"""Providers without a network: a script, a recorded trace, or any iterable of text."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from typing import Any

import anyio
from attrs import field, frozen

from minamo.core.chunks import Chunk, Done, Error, FunctionCall, Text
from minamo.core.trace import read_trace
from minamo.errors import BadRequest
from minamo.shell.providing.prepared import closing
from minamo.shell.raising import place_of

_LOG = logging.getLogger("minamo.stream")

# The event loop has other work to do than to read this much text at once.
TEXT_MAX = 2_000

Line = str | Chunk | tuple[float, str | Chunk]
"""A text or chunk, at once or after some seconds."""


def _chunk(said: object) -> Chunk:
    if isinstance(said, str):
        return Text(said)
    if isinstance(said, Text | FunctionCall | Error | Done):
        return said
    if said is None:
        raise BadRequest("a source gives text, and this gave None; leave those out")
    kind = type(said).__name__
    raise BadRequest(f"a source gives text, and this gave a {kind}; give the text in it")


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk, or if it has a lot of text several with the same."""
    if not isinstance(chunk, Text) or len(chunk.content) <= TEXT_MAX:
        yield chunk
        return
    for at in range(0, len(chunk.content), TEXT_MAX):
        yield Text(chunk.content[at : at + TEXT_MAX], () if at else chunk.thoughts)


def _timed(lines: Iterable[Line]) -> tuple[tuple[float, Chunk], ...]:
    out = []
    for line in lines:
        delay, said = line if isinstance(line, tuple) else (0.0, line)
        out.append((_seconds(delay), _chunk(said)))
    return tuple(out)


def _seconds(delay: object) -> float:
    if isinstance(delay, int | float) and 0 <= delay < math.inf:
        return float(delay)
    raise BadRequest("a delay is a number of seconds")


@frozen(slots=True)
class Scripted:
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

    def ask(self, _text: str, **_options: Any) -> Scripted:
        """The script, whatever is asked."""
        return self

    def chat(self, _messages: Iterable[Any], **_options: Any) -> Scripted:
        """The script, whatever was said before."""
        return self

    @classmethod
    def from_trace(cls, trace: str) -> Scripted:
        """The provider's part of a trace: its chunks, at its times."""
        script: list[Line] = []
        said, ended = 0.0, False
        for moment in read_trace(trace.split("\n")).moments:
            ended = ended or moment.event == "end"
            if moment.chunk is not None and not ended:
                script.append((moment.at - said, moment.chunk))
                said = moment.at
        return cls(script, hangs=not ended)


async def as_chunks(source: AsyncIterable[str | Chunk]) -> AsyncGenerator[Chunk, None]:
    """Any iterable of text, or of chunks, as chunks; what it throws becomes an error chunk."""
    failure: Error | None = None
    try:
        if not isinstance(source, AsyncIterable):
            raise BadRequest(f"no async iterable of text, but a {type(source).__name__}")  # noqa: TRY301
        async with closing(source) as items:
            async for item in items:
                for chunk in _parts(_chunk(item)):
                    yield chunk
    except BadRequest as error:  # our own words
        _LOG.warning("the source of a reply is wrong: %s", error)
        failure = Error("api_error", f"the provider failed: {error}")
    except Exception as error:  # noqa: BLE001 - somebody else's generator; its failure is a fact
        # The name and the place only: messages can hold secrets.
        kind = type(error).__name__
        _LOG.warning("the source of a reply raised %s at %s", kind, place_of(error))
        failure = Error("api_error", f"the provider failed ({kind})")
    if failure is not None:
        yield failure
