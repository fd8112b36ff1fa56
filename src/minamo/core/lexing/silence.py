"""The silence marker: a reply whose visible text is just the marker is not shown.

A model that has nothing to say can be told to write a marker such as `<silence/>`.  A fold over
visible text, in front of everything else that reads it: thoughts and tags never come here.  What
may be the marker is held back, and goes on as text as soon as anything else comes.
"""

from __future__ import annotations

# Some models end with a few empty lines; more than this after the marker is a reply.
_BLANKS_MAX = 64

Part = tuple[str, int]
"""Text, and where it stood in the stream."""


class Silence:
    """Holds back what may be *marker*; `silent` says at the end that it was, and nothing else."""

    __slots__ = ("_held", "_parts", "_spoken", "marker", "silent")

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self.silent = False
        self.begin()

    def begin(self) -> None:
        """Begin anew: what was said so far is no part of the reply."""
        self._held = ""
        self._parts: list[Part] = []
        self._spoken = False

    def feed(self, text: str, start: int) -> list[Part]:
        """Take visible text; return what may go on."""
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
        """Return what is held, as text: something else is shown."""
        parts, self._parts, self._held = self._parts, [], ""
        self._spoken = True
        return parts

    def finish(self) -> tuple[list[Part], list[Part]]:
        """End the reply; return what is text, and what is the marker."""
        self.silent = self._held.rstrip() == self.marker
        parts = self.release()
        return ([], parts) if self.silent else (parts, [])

    def _may_be_marker(self) -> bool:
        said = self._held.rstrip()
        if said == self.marker:
            return len(self._held) - len(said) <= _BLANKS_MAX
        return self.marker.startswith(self._held)
