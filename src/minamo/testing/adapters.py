"""The adapter check: a recorded response, replayed in many cuts, must keep the chunk contract."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Protocol

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.contract import find_problem
from minamo.wire.frames import Frame

_RANDOM_CUTS = 8
_CUTS_MAX = 1_000


class BytesDecoder(Protocol):
    """The pure part of a stream: decodes bytes into frames."""

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that *data* completes."""

    def end(self) -> Iterable[Frame]:
        """Return the frames left at the end of the input."""


class CheckedAdapter(Protocol):
    """An adapter for `check_adapter`: makes a decoder for each stream and converts frames."""

    def decoder(self) -> BytesDecoder:
        """Return a decoder for a new stream."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame."""


def check_adapter(adapter: CheckedAdapter, recorded_bytes: bytes, *, seed: int = 0) -> list[Chunk]:
    """Replay a recorded response in many cuts, check the contract, and return its chunks.

    Read whole, byte by byte and in random cuts (repeatable by *seed*) the chunks must be equal.
    Every field has its declared type.  The chunks end in done or one error, nothing follows an
    error, text comes before calls, arguments are parsed, and nothing is raised.

    Raises:
        AssertionError: a rule is broken; the message names the rule and the place.
    """
    whole = _replay(adapter, [recorded_bytes], "whole")
    _check_laws(whole)
    single = [recorded_bytes[i : i + 1] for i in range(len(recorded_bytes))]
    _compare(whole, _replay(adapter, single, "byte by byte"), "byte by byte")
    dice = random.Random(seed)  # noqa: S311 - must be repeatable
    for number in range(_RANDOM_CUTS):
        how = f"random cuts, seed {seed}, number {number}"
        _compare(whole, _replay(adapter, _cut(recorded_bytes, dice), how), how)
    return whole


def _cut(data: bytes, dice: random.Random) -> list[bytes]:
    count = dice.randrange(1, 2 + min(len(data) // 3, _CUTS_MAX))
    places = sorted(dice.randrange(len(data) + 1) for _ in range(count))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def _replay(adapter: CheckedAdapter, pieces: list[bytes], how: str) -> list[Chunk]:
    decoder = adapter.decoder()
    out: list[Chunk] = []

    def take(step: Callable[[], Iterable[Frame]], where: str) -> None:
        try:
            for frame in step():
                out.extend(adapter.process_chunk(frame))
        except Exception as error:
            raise AssertionError(f"{how}, {where}: {type(error).__name__}: {error}") from error

    at = 0
    for piece in pieces:
        take(lambda piece=piece: decoder.feed(piece), f"bytes {at} to {at + len(piece)}")  # type: ignore[misc]
        at += len(piece)
    take(decoder.end, "at the end")
    return out


def _compare(whole: list[Chunk], other: list[Chunk], how: str) -> None:
    for number, (left, right) in enumerate(zip(whole, other, strict=False)):
        if left != right:
            raise AssertionError(
                f"{how}: chunk {number} is {right!r}, but {left!r} when read whole"
            )
    if len(whole) != len(other):
        raise AssertionError(f"{how}: {len(other)} chunks, but {len(whole)} when read whole")


def _check_laws(chunks: list[Chunk]) -> None:
    for number, chunk in enumerate(chunks):
        problem = find_problem(chunk)
        if problem:
            raise AssertionError(f"chunk {number} breaks the contract of chunks: {problem}")
    if not chunks or not isinstance(chunks[-1], DoneChunk | ErrorChunk):
        last = type(chunks[-1]).__name__ if chunks else "nothing"
        raise AssertionError(f"the stream must end in DoneChunk or ErrorChunk, not in {last}")
    called = False
    for number, chunk in enumerate(chunks):
        if isinstance(chunk, ErrorChunk) and number + 1 < len(chunks):
            raise AssertionError(f"chunk {number} is an error, but {chunks[number + 1]!r} follows")
        if isinstance(chunk, TextChunk) and called and chunk.content:
            raise AssertionError(f"chunk {number} is text after a function call")
        if isinstance(chunk, FunctionCall):
            if called:
                raise AssertionError(f"chunk {number} is a second function call of one reply")
            called = True
