"""Filters that visible prose passes before the buffer: silence marker, prefill, speaker guard.

A model that has nothing to say can be instructed to write a marker such as `<silence/>`; a reply
whose visible text is just the marker is not shown.  Text that may be the marker is held, and passed
on as text as soon as anything else comes.  Thoughts and tags never reach these filters.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from minamo.core.accounting.spans import ADDED, Ledger, SpanQueue
from minamo.core.config import StreamConfig
from minamo.core.lexing.speaker_guard import SpeakerGuard
from minamo.core.limits import LEADING_BLANKS_MAX

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
        written = self._held.rstrip()
        if written == self.marker:
            return len(self._held) - len(written) <= _BLANKS_MAX
        return self.marker.startswith(self._held)


_ECHO, _BLANK, _SPOKEN = range(3)


@frozen(slots=True)
class PrefillOutput:
    """Output of `Prefill`: `before` (added), then `text`; `dropped` is the size of the echo.

    The dropped characters and `text` together are the beginning of (held + fed text).
    """

    before: str = ""
    dropped: int = 0
    text: str = ""


class Prefill:
    """Filter that shows *prefill* in front of the first text and strips an echo of it."""

    __slots__ = ("_echoed", "_held", "_matched", "_phase", "_prefill")

    def __init__(self, prefill: str) -> None:
        self._prefill = prefill
        self._matched = 0  # size of the echo held; a count, because its text equals the prefill
        self._held = ""  # the text after the echo, or instead of it
        self._echoed = False
        self._phase = _ECHO if prefill else _SPOKEN

    def feed(self, text: str) -> PrefillOutput:
        """Process *text*; return the output that can be shown now."""
        if self._phase == _SPOKEN:
            return PrefillOutput(text=text)
        dropped = 0
        if self._phase == _BLANK:
            self._held += text
        else:
            dropped = self._compare(text)
        if self._phase == _ECHO or not self._said():
            return PrefillOutput(dropped=dropped)
        self._phase = _SPOKEN
        return PrefillOutput(self._prefill, dropped, self._held)

    def release(self, *, shown: bool = False) -> PrefillOutput:
        """Return the held text: no more will come, or other content is *shown* now.

        A partial echo is text like any other.  A whole echo is words the model did say, so the
        prefill is shown even if nothing follows.
        """
        if self._phase == _SPOKEN:
            return PrefillOutput()
        if self._phase == _ECHO:
            self._held = self._prefill[: self._matched]
        self._phase = _SPOKEN
        begun = shown or self._echoed or bool(self._held.strip())
        return PrefillOutput(self._prefill if begun else "", 0, self._held)

    def _compare(self, text: str) -> int:
        """Continue the comparison with the prefill; return how many characters were an echo."""
        here, length = self._matched, len(self._prefill)
        echo = text[: length - here]
        if self._prefill[here : here + len(echo)] != echo:
            self._held = self._prefill[:here] + text
            self._phase = _BLANK
            return 0
        self._matched += len(echo)
        if self._matched < length:
            return 0
        self._held = text[len(echo) :]
        self._echoed = True
        self._phase = _BLANK
        return length

    def _said(self) -> bool:
        return len(self._held) > LEADING_BLANKS_MAX or bool(self._held.strip())


class InputFilters:
    """The two filters in a row, each holding a little text; one of them may be missing."""

    __slots__ = ("_guard", "_guarded", "_ledger", "_prefill", "_prefilled")

    def __init__(self, config: StreamConfig, ledger: Ledger) -> None:
        self._ledger = ledger
        self._prefill = Prefill(config.prefill) if config.prefill else None
        self._prefilled = SpanQueue()
        guarded = config.speaker_names or config.generic_speaker_guard
        self._guard = (
            SpeakerGuard(
                config.speaker_names,
                generic=config.generic_speaker_guard,
                first_line=config.guard_first_line,
            )
            if guarded
            else None
        )
        self._guarded = SpanQueue()

    @property
    def tripped(self) -> bool:
        """Whether the model began to speak for another speaker."""
        return self._guard is not None and self._guard.tripped

    def feed(self, text: str, start: int) -> Iterator[Part]:
        """Process prose; yield the parts that may pass to the buffer."""
        if self._prefill is None:
            yield from self._to_guard(text, start)
            return
        self._prefilled.put(start, len(text))
        yield from self._filled(self._prefill.feed(text))

    def finish(self, *, shown: bool = False) -> Iterator[Part]:
        """Yield the held text of both: no more prose comes, or other content is *shown* now."""
        if self._prefill is not None:
            yield from self._filled(self._prefill.release(shown=shown))
        if self._guard is not None:
            yield from self._out(self._guard.release())

    def discard(self, reason: str) -> None:
        """Suppress the held text."""
        self._ledger.suppress_trail(
            [*self._guarded.take_all(), *self._prefilled.take_all()], reason
        )

    def _filled(self, filled: PrefillOutput) -> Iterator[Part]:
        if filled.before:
            yield from self._to_guard(filled.before, ADDED)
        for start, size in self._prefilled.take(filled.dropped):
            self._ledger.suppress(start, size, "prefill_echo")
        at = 0
        for start, size in self._prefilled.take(len(filled.text)):
            yield from self._to_guard(filled.text[at : at + size], start)
            at += size

    def _to_guard(self, text: str, start: int) -> Iterator[Part]:
        if self._guard is None:
            yield text, start
            return
        self._guarded.put(start, len(text))
        yield from self._out(self._guard.feed(text))
        if self._guard.tripped:
            self._ledger.suppress_trail(self._guarded.take_all(), "speaker_guard")

    def _out(self, text: str) -> Iterator[Part]:
        at = 0
        for start, size in self._guarded.take(len(text)):
            yield text[at : at + size], start
            at += size
