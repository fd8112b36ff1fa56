"""A reply on its way to a pass, and what the turn has to know of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Any

from minamo.core.chunks import Chunk, Done
from minamo.core.silence import Silence
from minamo.shell.providing.prepared import closing
from minamo.shell.providing.scripted import as_chunks


class Hearing:
    """One reply, read by the turn while a pass reads it.  A source that raises ends in an error."""

    __slots__ = ("_chunks", "replay", "silence")

    def __init__(self, source: AsyncIterable[str | Chunk], marker: str = "") -> None:
        self.silence = Silence(marker) if marker else None
        """Held back by the stream that reads this; see `Source`."""
        self._chunks = self._through(source)
        self.replay: Mapping[str, Any] = {}
        """What the provider wants to see again with this reply."""

    @property
    def silent(self) -> bool:
        """Whether the reply was the marker and nothing else."""
        return self.silence is not None and self.silence.silent

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self._chunks

    async def aclose(self) -> None:
        """Let go of the source, however much of it was read."""
        await self._chunks.aclose()

    async def _through(self, source: AsyncIterable[str | Chunk]) -> AsyncGenerator[Chunk, None]:
        async with closing(as_chunks(source)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Done):
                    self.replay = chunk.replay
                yield chunk
