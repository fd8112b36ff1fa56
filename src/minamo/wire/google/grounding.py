"""The sources of a Gemini reply, and the passages that they support.

Gemini counts bytes of UTF-8 and names them after the text; our positions count characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from minamo.core.chunks import CITATIONS_MAX
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.json import convert_optional, joined

# The bytes of UTF-8 that continue a character; every other byte begins one.
_CONTINUING = bytes(range(0x80, 0xC0))
# A longer text is not searched for a passage that is elsewhere than its position says.
_SEARCHED_CHARS_MAX = 200_000


class _Web(msgspec.Struct):
    uri: str | None = None
    title: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    web: _Web | None = None
    maps: _Web | None = None
    retrieved_context: _Web | None = None


class _Segment(msgspec.Struct, rename="camel"):
    start_index: int = 0
    end_index: int = 0
    text: str = ""


class _Support(msgspec.Struct, rename="camel"):
    segment: _Segment | None = None
    grounding_chunk_indices: list[int] | None = None


class _Grounding(msgspec.Struct, rename="camel"):
    grounding_chunks: list[_Chunk] | None = None
    grounding_supports: list[_Support] | None = None


class _Recitation(msgspec.Struct, rename="camel"):
    """A passage that the model repeats from somewhere."""

    uri: str | None = None
    title: str | None = None
    start_index: int = 0
    end_index: int = 0


class _Recitations(msgspec.Struct, rename="camel"):
    citation_sources: list[_Recitation] | None = None
    citations: list[_Recitation] | None = None
    """The name of the field on Vertex."""


def cite(reply: ReplyAssembler, pieces: Sequence[str], grounding: Sequence[Any]) -> None:
    """Record the sources in the *grounding* of a reply whose text arrived in *pieces*."""
    text = joined("".join(pieces))
    cited: list[tuple[_Web, _Segment]] = []
    for found in grounding:
        grounded = convert_optional(_Grounding, found) or _Grounding()
        chunks = [_source(chunk) for chunk in grounded.grounding_chunks or ()]
        for source in chunks:
            reply.cite(source.uri, source.title)
        for support in grounded.grounding_supports or ():
            known = [at for at in support.grounding_chunk_indices or () if 0 <= at < len(chunks)]
            cited += [(chunks[at], support.segment or _Segment()) for at in known]
        for recited in _recited(found):
            source = _Web(recited.uri, recited.title)
            cited.append((source, _Segment(recited.start_index, recited.end_index)))
    # Positions in another text than the one that was passed on would be wrong.
    if len(text) == reply.chars:
        _place(reply, text, cited[: 4 * CITATIONS_MAX])


def _source(chunk: _Chunk) -> _Web:
    return chunk.web or chunk.maps or chunk.retrieved_context or _Web()


def _recited(found: Any) -> list[_Recitation]:
    recitations = convert_optional(_Recitations, found) or _Recitations()
    return [*(recitations.citation_sources or ()), *(recitations.citations or ())]


def _place(reply: ReplyAssembler, text: str, cited: list[tuple[_Web, _Segment]]) -> None:
    ends = [at for _, segment in cited for at in (segment.start_index, segment.end_index)]
    characters = characters_before(text, ends)
    for source, segment in cited:
        start, end = characters[segment.start_index], characters[segment.end_index]
        if segment.text and text[start:end] != segment.text:
            # Gemini leaves out in which part of the reply it counts, such as behind a thought.
            start = text.find(segment.text) if len(text) <= _SEARCHED_CHARS_MAX else -1
            end = start + len(segment.text)
        if end > start:
            reply.cite(source.uri, source.title, start, end)


def characters_before(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Return how many characters begin before each offset in the bytes of *text*, in one pass."""
    data = text.encode("utf-8", "surrogatepass")
    counts: dict[int, int] = {}
    at = count = 0
    for offset in sorted(set(offsets)):
        if offset > at:
            count += len(data[at:offset].translate(None, _CONTINUING))
            at = offset
        counts[offset] = count
    return counts
