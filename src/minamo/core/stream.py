"""The sans-IO state of one reply: feed it events, drain its effects, read its result.

Chunks and stop requests go in, `take_effects` returns the effects, and `result` the outcome.
When each action runs is decided by statecharts/stream.yaml alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import proxy

from minamo.core.accounting.outbox import WITHDRAWN
from minamo.core.accounting.pending import RenderedPrefix
from minamo.core.actions import Effect, EndEvent, StreamActions
from minamo.core.chunks import (
    CUT_SHORT,
    SOURCES_SHOWN,
    Chunk,
    Citation,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    normal_finish_reason,
    sources_text,
)
from minamo.core.config import StreamConfig
from minamo.core.lexing.intake import RULE, Intake
from minamo.core.lexing.lexer import MARKERS, Token
from minamo.core.lexing.sentences import find_ends
from minamo.core.limits import STATES_MAX, TOKEN_MAX
from minamo.core.result import Status, StopReason, StreamResult
from minamo.machine import Machine, compile, load
from minamo.machine.model import ENTRY

CHART = load("stream")
TABLE = compile(CHART, StreamActions)
#: The markers to recognise in each state: those that have a row there.
LIVE = {leaf.id: TABLE.live(leaf.id, MARKERS) for leaf in CHART.leaves}
#: The states in which nothing has ended the stream.
OPEN = {leaf.id for leaf in CHART.leaves if CHART.states["live"] in CHART.lineage(leaf.id)}
#: The stop reason of each clock.
_EXPIRED: dict[str, StopReason] = {
    "first_token": "inactivity",
    "inactivity": "inactivity",
    "deadline": "deadline",
    "sdk_call_timeout": "sdk_call_timeout",
}


#: The clocks that are started again, by a chunk or a receipt.
RESTARTED = [clock.name for clock in CHART.clocks.values() if clock.since != (ENTRY,)]
_DEFAULTS = StreamConfig()


def clock_lengths(config: StreamConfig) -> dict[str, float]:
    """Return the length of each clock of the chart in seconds, from the setting it names."""
    return {clock.name: getattr(config, clock.length) / 1000 for clock in CHART.clocks.values()}


class Stream:
    """One reply in progress.  It raises for no event of the provider, a user or delivery."""

    __slots__ = ("_intake", "_numbers", "actions", "characters", "chunks", "machine", "skipped")

    def __init__(self, config: StreamConfig | None = None) -> None:
        config = config or _DEFAULTS
        self.actions: StreamActions = StreamActions(config)
        self.machine: Machine = Machine(TABLE, self.actions, path=[], path_max=STATES_MAX)
        self.actions.machine = proxy(self.machine)  # without a reference cycle
        self._intake = Intake(self.actions.ledger, line_ends=RULE not in config.clean_off)
        self._numbers: dict[str, int] = {}  # the sources whose numbers are in the text
        self.chunks: int = 0
        self.skipped: int = 0
        self.characters: int = 0

    @property
    def state(self) -> str:
        """The chart's leaf state in which the stream is."""
        return self.machine.state

    @property
    def decided(self) -> bool:
        """Whether an event has ended the stream; its text may still be in delivery."""
        return self.machine.state not in OPEN

    @property
    def ended(self) -> bool:
        """Whether the stream has its outcome."""
        return self.machine.ended

    def take_effects(self) -> list[Effect]:
        """Return and clear the pending effects, in order."""
        effects, self.actions.effects = self.actions.effects, []
        return effects

    # Provider events.

    def chunk(self, chunk: Chunk) -> None:
        """Process the next chunk."""
        self.chunks += 1
        if chunk.thoughts:
            self.actions.captures.provider(chunk.thoughts)
        if isinstance(chunk, TextChunk):
            if chunk.overlap:
                # Counted, but without an offset: these characters never reached the stream.
                self.actions.ledger.suppressed["overlap"] += chunk.overlap
            self._text(chunk.content)
            if chunk.citations:
                self._mark_sources(chunk.citations)
        elif isinstance(chunk, FunctionCall):
            self._show_sources(chunk.citations)
            self.skipped = chunk.skipped
            data = chunk.calls[0] if chunk.calls else None
            done = DoneChunk(
                chunk.finish_reason,
                chunk.usage,
                raw_finish_reason=chunk.raw_finish_reason,
                citations=chunk.citations,
            )
            ending = EndEvent(None, data, chunk.calls, chunk.usage, done=done)
            self._end("function_called", ending)
        elif isinstance(chunk, ErrorChunk):
            self._end("provider_failed", EndEvent(data=chunk))
        elif isinstance(chunk, FileChunk):
            self._read(last=True)  # the text before the file is not continued behind it
            if self.machine.state != "in_code":
                self.actions.lexer.begin_line()
            self.machine.send("file_came", chunk)
        else:
            self._show_sources(chunk.citations)
            self.skipped = chunk.skipped
            self.machine.send("provider_finished", chunk)

    def end(self) -> None:
        """End the stream: the provider has no more chunks."""
        self._end("provider_ended", EndEvent())

    def fail(self, error: ErrorChunk) -> None:
        """End the stream: reading from the provider failed."""
        self._end("provider_failed", EndEvent(data=error))

    def ran_out(self, clock: str) -> None:
        """End the stream: *clock*, one of the chart's, has run out."""
        self._end(CHART.clocks[clock].event, EndEvent(_EXPIRED[clock]))

    # Requests of users and of the system.

    def stop(self, requester: str | None = None) -> None:
        """End the reply here; without a *requester* the system requests it."""
        reason: StopReason = "system_request" if requester is None else "user_request"
        self._end("stop_requested", EndEvent(reason, suppress="stop"))

    def follow_up(self) -> None:
        """End the reply because a newer message replaces it."""
        self._discard("follow_up_requested", EndEvent("follow_up", suppress="follow_up"))

    def kill(self) -> None:
        """End the reply at once."""
        self._discard("killed", EndEvent("killed", suppress="killed"))

    # Reports of delivery.

    def delivered(self, messages: int = 1) -> None:
        """Record that Discord has so many more messages, in their order."""
        self.actions.shown += messages
        for _ in range(messages):
            self.actions.outbox.delivered()

    def arrived(self, number: int) -> None:
        """Record that Discord has message *number*, counted from 0."""
        self.actions.shown += 1
        self.actions.outbox.delivered(number)

    def removed(self) -> None:
        """Record that a message was deleted again because the edit-in-place reply changed."""
        self.actions.shown -= 1

    def missed(self, number: int, reason: str) -> None:
        """Record that message *number* will not be shown; that alone does not end the stream."""
        self.actions.outbox.lose(number, reason)
        if reason in WITHDRAWN:
            self.actions.report_recall()

    def settle_in_place(self, shown: RenderedPrefix | None, tried: RenderedPrefix | None) -> None:
        """Account for an edit-in-place reply when no more of it will be sent."""
        if self.actions.outbox.settle(shown, tried):
            self.actions.report_recall()

    def delivery_lost(self) -> None:
        """End the stream: a message was refused, or its outcome is unknown."""
        self._discard("delivery_lost", EndEvent("delivery_lost", suppress="undelivered"))

    def limit_reached(self) -> None:
        """End the stream: the reply has reached its message limit."""
        self._discard("limit_reached", EndEvent("send_message_limit", suppress="limit"))

    def flushed(self) -> None:
        """Record that every message has its outcome."""
        if self.decided:
            self._read_held()  # half a character may have come too late
        self.machine.send("flushed", None)

    # The outcome.

    def result(self, *, metrics: Mapping[str, float] | None = None) -> StreamResult:
        """Return the outcome; raise RuntimeError if the stream has not ended."""
        if not self.machine.ended:
            raise RuntimeError(f"the stream is still {self.state}; wait for its outcome")
        self._read_held()
        actions = self.actions
        # The chart's outcomes are the statuses.
        status: Status = self.machine.state  # type: ignore[assignment]
        counts = {"total_chunks": self.chunks, "total_characters": self.characters}
        if self.skipped:
            counts["skipped_events"] = self.skipped
        text = actions.outbox.text
        done = actions.ending.done
        if done is None or not (done.finish_reason or done.citations):
            done = actions.done
        reason = normal_finish_reason(done.finish_reason)
        cut_short = status in ("timeout", "error") or reason in CUT_SHORT
        return StreamResult(
            status=status,
            data=actions.ending.data,
            accumulated_text=text,
            details_content="\n\n".join(actions.captures.texts("details")),
            stop_reason=actions.ending.stop_reason,
            thought_log=actions.captures.texts("think"),
            continuation_prefill=_unfinished(text) if cut_short else "",
            function_calls=actions.ending.calls,
            finish_reason=reason,
            raw_finish_reason=done.raw_finish_reason or done.finish_reason,
            citations=done.citations,
            files=tuple(actions.outbox.files),
            usage=actions.done.usage or actions.ending.usage,
            suppressed=dict(sorted(actions.ledger.suppressed.items())),
            additions={k: v for k, v in sorted(actions.ledger.additions.items()) if v},
            states=tuple(self.machine.path or ()),
            metrics={**counts, **(metrics or {})},
        )

    def _mark_sources(self, citations: tuple[Citation, ...]) -> None:
        """Put the numbers of the sources after the passage that they back, as its text."""
        if self.actions.config.show_citations != "in_place" or self.machine.state != "streaming":
            return
        known = self._numbers
        numbers = [known.setdefault(source.url, len(known) + 1) for source in citations]
        self._text("".join(f"[{number}]" for number in numbers if number <= SOURCES_SHOWN))

    def _show_sources(self, citations: tuple[Citation, ...]) -> None:
        """Append the sources to a reply, as its text; not to one that ends inside of something."""
        if not citations or self.actions.config.show_citations == "off":
            return
        self._read_held()
        if self.machine.state == "streaming" and self.characters:
            last = len(self._numbers) + 1
            numbered = sorted(citations, key=lambda source: self._numbers.get(source.url, last))
            self._text(sources_text(numbered))

    def _text(self, content: str) -> None:
        self.characters += len(content)
        if not content:
            # Even an empty chunk shows that the provider answers.
            self.machine.send("text", Token("text", "", self.actions.lexer.at))
            return
        text = self._intake.feed(content)
        lexer, machine = self.actions.lexer, self.machine
        token = lexer.plain(LIVE[machine.state], text)
        if token is not None:
            machine.send("text", token)
            return
        lexer.add(text)
        self._read()

    def _read(self, *, last: bool = False) -> None:
        lexer, machine = self.actions.lexer, self.machine
        while (token := lexer.next(LIVE[machine.state], last=last)) is not None:
            if token.event != "text" or len(token.text) <= TOKEN_MAX:
                machine.send(token.event, token)
                continue
            for at in range(0, len(token.text), TOKEN_MAX):
                part = token.text[at : at + TOKEN_MAX]
                machine.send(token.event, Token(token.event, part, token.start + at))

    def _read_held(self) -> None:
        """Decide the text held back as undecided: no more will come."""
        self.actions.lexer.add(self._intake.release())
        self._read(last=True)

    def _read_mistaken(self, ending: EndEvent) -> None:
        """Read again the text after a block that merely mentioned its tag and ended before it.

        It is read like any other text: it may contain code, or a thought.
        """
        captures = self.actions.captures
        while (back := captures.give_back()) is not None:
            self.machine.send("end_came", ending)
            text, start = back
            event = f"{captures.kind}_closed"
            self.machine.send(event, Token(event, "", start))
            self.actions.lexer.again(text, start)
            self._read(last=True)

    def _end(self, event: str, ending: EndEvent) -> None:
        self._read_held()
        if self.actions.captures.kind:
            self._read_mistaken(ending)
        self.machine.send(event, ending)

    def _discard(self, event: str, ending: EndEvent) -> None:
        """Discard held text, undecided, with the rest; may be called while text is being read."""
        if not self.decided:
            self.actions.lexer.add(self._intake.release())
        self.machine.send(event, ending)


def _unfinished(text: str) -> str:
    """Return the text after the last complete sentence."""
    ends = find_ends(text)
    return text[ends[-1] :].strip() if ends else text
