"""The silence marker: a reply whose visible text is just the marker is not shown.

A model that has nothing to say can be instructed to write a marker such as `<silence/>`.  This is a
fold over visible text, before any other filter: thoughts and tags never reach it.  Text that may be
the marker is held, and passed on as text as soon as anything else comes.
"""

from __future__ import annotations

# Some models end with a few empty lines; more than this after the marker is a reply.
_BLANKS_MAX = 64

Part = tuple[str, int]
"""Text, and its offset in the stream."""


class Silence:
    """Filter that holds what may be *marker*; `silent` is set at the end if it was all."""

    __slots__ = ("_held", "_parts", "_spoken", "marker", "silent")

    def __init__(self, marker: str) -> None:
        self.marker: str = marker
        self.silent: bool = False
        self.begin()

    def begin(self) -> None:
        """Start anew: the text so far is no part of the reply."""
        self._held = ""
        self._parts: list[Part] = []
        self._spoken = False

    def feed(self, text: str, start: int) -> list[Part]:
        """Process visible text; return the parts that may pass."""
        if self._spoken:
            return [(text, start)]
        out: list[Part] = []
        if not self._held:
            ink = text.lstrip()
            blanks = len(text) - len(ink)
            out = [(text[:blanks], start)] if blanks else []
            text, start = ink, start + blanks
        if text:
            self._held += text
            self._parts.append((text, start))
        return out if self._may_be_marker() else out + self.release()

    def release(self) -> list[Part]:
        """Return the held parts as text: other content is shown."""
        parts, self._parts, self._held = self._parts, [], ""
        self._spoken = True
        return parts

    def finish(self) -> tuple[list[Part], list[Part]]:
        """End the reply; return the parts that are text, and those that are the marker."""
        self.silent = self._held.rstrip() == self.marker
        parts = self.release()
        return ([], parts) if self.silent else (parts, [])

    def _may_be_marker(self) -> bool:
        said = self._held.rstrip()
        if said == self.marker:
            return len(self._held) - len(said) <= _BLANKS_MAX
        return self.marker.startswith(self._held)
