"""Actions and guards named in statecharts/stream.yaml.  The chart alone decides when they run."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.spans import ADDED, Ledger
from minamo.core.captures import Captures
from minamo.core.chunks import Call, DoneChunk, FileChunk, Usage
from minamo.core.config import StreamConfig
from minamo.core.lexing.filters import InputFilters, Silence
from minamo.core.lexing.lexer import Lexer, Token
from minamo.core.lexing.segmenter import Buffer
from minamo.core.result import StopReason

if TYPE_CHECKING:
    from minamo.machine import Machine


class Effect(Enum):
    """Requests to the shell."""

    DELIVER = "deliver"
    """One more segment or file is pending in the outbox."""
    WITHDRAW = "withdraw"
    """Pending segments were withdrawn; a send that has not begun must not begin."""
    CLOSE = "close"
    """Release the provider, end the typing indicator, and report when delivery has settled."""


@frozen(slots=True)
class EndEvent:
    """Payload of an event that ends a stream."""

    stop_reason: StopReason | None = None
    data: Any = None
    calls: tuple[Call, ...] = ()
    usage: Usage | None = None
    suppress: str = ""
    """Suppression reason for discarded text."""
    done: DoneChunk | None = None
    """How the provider finished a reply that ends with tool calls."""


_UNENDED = EndEvent()
_CUT_OFF = {"speaker_guard": "speaker_guard", "send_message_limit": "limit"}


class StreamActions:
    """Parts of one stream, with the chart's actions and guards as methods."""

    def __init__(self, config: StreamConfig) -> None:
        self.config = config
        self.ledger: Ledger = Ledger()
        self.lexer: Lexer = Lexer()
        self.filters: InputFilters | None = self._new_filters()
        self.silence: Silence | None = None  # set by the caller if there is a marker
        self.captures: Captures = Captures(self.ledger)
        self.outbox: Outbox = Outbox(config, self.ledger)
        self.buffer: Buffer = self._new_buffer()
        self.effects: list[Effect] = []
        self.model_parts: list[dict[str, str]] = []
        self.machine: Machine | None = None
        self.idle_lane: Callable[[], object] | None = None  # called instead of an effect
        self.handed: int = 0  # segments that have left the buffer
        self.shown = 0  # messages visible on Discord
        self.ending: EndEvent = _UNENDED
        self.done: DoneChunk = DoneChunk()
        self.recall: EndEvent = EndEvent()  # the event that last withdrew text
        self.withdrawn: str = ""  # suppression reason of the last withdrawal

    def _new_buffer(self) -> Buffer:
        config = self.config
        return Buffer(
            config.degree,
            config.flush_buffer_size,
            config.flush_buffer_size_code_block,
            config.max_message_length,
        )

    def _new_filters(self) -> InputFilters | None:
        """Return the filters that the settings ask for; None if they ask for none, as most do."""
        config = self.config
        wanted = config.prefill or config.speaker_names or config.generic_speaker_guard
        return InputFilters(config, self.ledger) if wanted else None

    # Guards.

    def unsent(self, _: object) -> bool:
        return self.handed == 0

    def outermost(self, _: object) -> bool:
        return self.captures.depth == 0

    def segment_ready(self, _: object) -> bool:
        # Behind the message limit none is sent, however many a chunk has completed.
        return bool(self.buffer.ready) and not self.outbox.limited

    def fence_open(self, _: object) -> bool:
        return self.buffer.fence != ""

    def first_end(self, _: object) -> bool:
        return self.ending is _UNENDED

    def for_follow_up(self, ending: EndEvent) -> bool:
        return ending.stop_reason == "follow_up"

    def nothing_shown(self, _: object) -> bool:
        if self.config.suppress_text_output:
            return not self.outbox.spoke
        return self.shown == 0

    # Text.

    def take_text(self, token: Token) -> None:
        if token.hidden:
            self.drop_marker(token)
            return
        if not token.text:
            return
        self.captures.flowing = False
        if self.silence is not None:
            for text, start in self.silence.feed(token.text, token.start):
                self._take_prose(text, start)
        elif self.filters is not None:
            self._take_prose(token.text, token.start)
        else:
            self.buffer.add(token.text, token.start)

    def _take_prose(self, text: str, start: int) -> None:
        if self.filters is None:
            self.buffer.add(text, start)
            return
        for part, at in self.filters.feed(text, start):
            self.buffer.add(part, at)
        if self.filters.tripped:
            assert self.machine is not None
            self.machine.send("guard_tripped", EndEvent("speaker_guard"))

    def take_code(self, token: Token) -> None:
        if self._is_behind_guard(token):
            return
        if token.hidden:
            self.ledger.suppress(token.start, len(token.text), "clean.fence")
            return
        self.buffer.add_code(token.text, token.start)

    def open_code(self, token: Token) -> None:
        self.captures.flowing = False
        if self._is_behind_guard(token):
            return
        self._take_held(shown=True)
        self.buffer.open_code(*self._moved_out(token))

    def take_file(self, file: FileChunk) -> None:
        self.captures.flowing = False
        self._take_held(shown=True)
        self.buffer.flush()
        while self.buffer.ready:
            self.hand_over(None)
        self.handed += 1
        self.outbox.put_file(file)
        if self.idle_lane is None:
            self.effects.append(Effect.DELIVER)
        else:
            self.idle_lane()

    def close_code(self, token: Token) -> None:
        if self._is_behind_guard(token):
            return
        self.buffer.close_code(*self._moved_out(token))

    def _is_behind_guard(self, token: Token) -> bool:
        """Suppress code after another speaker's label, in text read at the end; return whether."""
        tripped = self.filters is not None and self.filters.tripped
        if tripped:
            self.ledger.suppress(token.start, len(token.text), "speaker_guard")
        return tripped

    def _take_held(self, *, shown: bool = False) -> None:
        """Take the text that the filters hold, as it is."""
        if self.silence is not None:
            for text, start in self.silence.release():
                self._take_prose(text, start)
        if self.filters is not None:
            for text, start in self.filters.finish(shown=shown):
                self.buffer.add(text, start)

    def _moved_out(self, token: Token) -> tuple[str, int]:
        """Return a fence line and its start without the indent: Discord would show it, unneeded."""
        bare = token.text.lstrip(" \t")
        if bare[0] not in "`~":
            return token.text, token.start  # the mark of a list item precedes the fence
        indent = len(token.text) - len(bare)
        self.ledger.suppress(token.start, indent, "clean.fence")
        return bare, token.start + indent

    def drop_marker(self, token: Token) -> None:
        self.ledger.suppress(token.start, len(token.text), "marker")

    def take_thought(self, token: Token) -> None:
        self.captures.add(token)

    def take_details(self, token: Token) -> None:
        self.captures.add(token)

    def open_thought(self, token: Token) -> None:
        self._open("think", token)

    def open_details(self, token: Token) -> None:
        self._open("details", token)

    def _open(self, kind: str, token: Token) -> None:
        self.drop_marker(token)
        self.captures.open(kind)

    def nest_thought(self, token: Token) -> None:
        self.captures.nest(token)

    def nest_details(self, token: Token) -> None:
        self.captures.nest(token)

    def unnest_thought(self, token: Token) -> None:
        self.captures.unnest(token)

    def unnest_details(self, token: Token) -> None:
        self.captures.unnest(token)

    def close_thought(self, token: Token) -> None:
        self.drop_marker(token)
        self.captures.close()

    def close_details(self, token: Token) -> None:
        self.drop_marker(token)
        self.captures.close()

    def reclaim_thought(self, token: Token) -> None:
        self.drop_marker(token)
        self._take_held()
        if self.silence is not None:
            self.silence.begin()
        parts, trail = [], []
        for segment in self.buffer.rest():
            at = 0
            for start, size in segment.trail:
                if start != ADDED:  # else the prefill, shown in front of the text that follows
                    parts.append(segment.text[at : at + size])
                    trail.append((start, size))
                at += size
        self.captures.keep("think", "".join(parts), trail)
        self.filters = self._new_filters()
        self.buffer = self._new_buffer()
        self.outbox.retract()  # an edit-in-place reply has shown text that is no part of the reply

    # Delivery.

    def hand_over(self, _: object) -> None:
        # One at a time, so that the path through the chart does not depend on the chunking.
        segment = self.buffer.ready.pop(0)
        self.handed += 1
        if segment.text.strip():
            self.model_parts.append({"text": segment.text})
        self.outbox.put(segment)
        if self.idle_lane is None:
            self.effects.append(Effect.DELIVER)
        else:
            self.idle_lane()

    def hand_complete(self, _: object) -> None:
        self.buffer.settle()
        while self.buffer.ready:
            self.hand_over(None)

    def keep_open(self, _: object) -> None:
        if self.captures.kind:
            self.captures.close()

    def flush_rest(self, _: object) -> None:
        self._flush(cut_off=False)

    def flush_cut_off(self, _: object) -> None:
        self._flush(cut_off=True)

    def _flush(self, *, cut_off: bool) -> None:
        if self.silence is not None:
            spoken, marker = self.silence.finish()
            for text, start in spoken:
                self._take_prose(text, start)
            for text, start in marker:
                self.ledger.suppress(start, len(text), "marker")
        if self.filters is not None:
            for text, start in self.filters.finish():
                self.buffer.add(text, start)
        self.buffer.ready.extend(self.buffer.rest(cut_off=cut_off))
        while self.buffer.ready:
            self.hand_over(None)

    def discard_rest(self, ending: EndEvent) -> None:
        reason = ending.suppress
        start, held = self.lexer.drop()
        self.ledger.suppress(start, len(held), reason)
        if self.silence is not None:
            for text, at in self.silence.release():
                self.ledger.suppress(at, len(text), reason)
        if self.filters is not None:
            self.filters.discard(reason)
        for segment in self.buffer.rest():
            if self.outbox.grows:  # part of it may be in the channel
                self.outbox.put(segment)
            else:
                self.ledger.suppress_trail(segment.trail, reason)
        self._take_back(ending)

    def withdraw(self, ending: EndEvent) -> None:
        self.recall = ending
        if self._take_back(ending):
            self.report_recall()

    def abandon(self, ending: EndEvent) -> None:
        self._take_back(ending)

    def _take_back(self, ending: EndEvent) -> bool:
        """Suppress text that delivery has not begun to send; return whether there was any."""
        self.withdrawn = ending.suppress
        self.effects.append(Effect.WITHDRAW)
        return self.outbox.withdraw(ending.suppress)

    def report_recall(self) -> None:
        """Send the chart a `recalled` event with the cause of the last withdrawal."""
        assert self.machine is not None
        self.machine.send("recalled", self.recall)

    def close_stream(self, _: object) -> None:
        self.effects.append(Effect.CLOSE)

    # The outcome.

    def note_finish(self, done: DoneChunk) -> None:
        self.done = done

    def note_ending(self, ending: EndEvent) -> None:
        self.ending = ending

    def note_recall(self, ending: EndEvent) -> None:
        self.ending = evolve(ending, usage=self.ending.usage)

    def record_late(self, payload: object) -> None:
        if isinstance(payload, Token):
            # Text cut off by the guard or the limit keeps their reason, however much was read.
            reason = _CUT_OFF.get(self.ending.stop_reason or "", "late")
            self.ledger.suppress(payload.start, len(payload.text), reason)
