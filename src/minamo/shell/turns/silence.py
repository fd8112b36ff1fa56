"""A reply on its way to a pass: what the turn has to know of it, and the silence marker.

A model that has nothing to say can be told to write a marker such as `<silence/>`.  A reply that
is just that is not shown.  The marker is held back while it comes, and given out as text as soon
as anything else does, or when the reply is ended from elsewhere before it is whole.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Any

from attrs import evolve

from minamo.core.chunks import Chunk, Done, Error, FunctionCall, Text
from minamo.core.markers import Markers
from minamo.core.stream import LIVE
from minamo.shell.providing.prepared import closing
from minamo.shell.providing.scripted import as_chunks

# Some models end with a few empty lines; more than this after the marker is a reply.
_BLANKS_MAX = 64
_INSIDE = {"think_opened": "in_think", "details_opened": "in_details"}


class Hearing:
    """One reply, read by the turn while a pass reads it: the chunks, without the marker.

    A source that raises ends in an error.
    """

    __slots__ = ("_chunks", "_hush", "replay", "silent")

    def __init__(self, source: AsyncIterable[str | Chunk], marker: str = "") -> None:
        self._hush = Hush(marker) if marker else None
        self._chunks = self._through(source)
        self.replay: Mapping[str, Any] = {}
        """What the provider wants to see again with this reply."""
        self.silent = False
        """The reply was the marker and nothing else."""

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self._chunks

    async def aclose(self) -> None:
        """Let go of the source, however much of it was read."""
        await self._chunks.aclose()

    def let_go(self) -> list[Chunk]:
        """What is held back and is not the marker: nobody waits for more."""
        if self._hush is None:
            return []
        text = self._hush.finish()
        self.silent = self._hush.silent
        return [Text(text)] if text else []

    async def _through(self, source: AsyncIterable[str | Chunk]) -> AsyncGenerator[Chunk, None]:
        async with closing(as_chunks(source)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Done):
                    self.replay = chunk.replay
                elif isinstance(chunk, FunctionCall | Error):
                    for rest in self.let_go():
                        yield rest
                elif self._hush is not None:
                    chunk = evolve(chunk, content=self._hush.feed(chunk.content))
                yield chunk
        for rest in self.let_go():
            yield rest


class Hush:
    """A fold over the text of a reply that keeps back what may be the marker.

    Thoughts are not part of what is said, so they are looked through, with core's own lexer.
    """

    __slots__ = ("_held", "_lexer", "_marker", "_open", "_state", "silent")

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._lexer = Markers()
        self._state = "streaming"
        self._held = ""
        self._open = False  # it is a reply like any other
        self.silent = False

    def feed(self, text: str) -> str:
        """Take text; give out what may go on."""
        if self._open:
            return text
        self._lexer.add(text)
        return self._read(last=False)

    def finish(self) -> str:
        """No more text comes: what is left, unless it is the marker."""
        if self._open:
            return ""
        out = self._read(last=True)
        self.silent = self._held.rstrip() == self._marker
        held, self._held, self._open = self._held, "", True
        return out if self.silent else out + held

    def _read(self, *, last: bool) -> str:
        out = ""
        while not self._open:
            token = self._lexer.next(LIVE[self._state], last=last)
            if token is None:
                break
            if token.event == "text" and self._state == "streaming" and not token.hidden:
                out += self._take(token.text)
            elif token.event == "fence_opened" or (self._held and token.event in _INSIDE):
                out += self._release(token.text)
            else:
                # A thought or a tag; one that closes nothing makes a thought of what was before.
                out += self._held + token.text
                self._held = ""
                self._state = _INSIDE.get(token.event, self._state)
                if token.event.endswith("_closed"):
                    self._state = "streaming"
        return out

    def _take(self, text: str) -> str:
        """What is said: blanks in front go on, then it is the marker or it is not."""
        blank = ""
        if not self._held:
            blank = text[: len(text) - len(text.lstrip())]
            text = text[len(blank) :]
        self._held += text
        said = self._held.rstrip()
        blanks = len(self._held) - len(said)
        if said == self._marker and blanks <= _BLANKS_MAX:
            return blank
        return blank if self._marker.startswith(self._held) else blank + self._release("")

    def _release(self, text: str) -> str:
        self._open = True
        held, self._held = self._held, ""
        return held + text + self._lexer.drop()[1]
