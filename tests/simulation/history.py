"""Judge what happened in a world of streams.  It knows the promises and nothing of the program.

A history is a list of lines: a time in seconds, a stream, what happened, and more words.

    0.0 s3 opens channel=1 drain=5.0
    1.0 s3 chunk 22 0-19            22 characters, of which these can be told apart
    1.0 s3 send n-1 20 0-19         a call begins: the nonce, the size and the marks of its text
    1.4 s3 shows n-1                Discord has it
    1.4 s3 answer n-1               the call ends
    1.4 s3 receipt n-1 delivered
    2.0 s3 wish user                or follow_up, kill; other causes: end, failed, called, silent,
    2.0 s3 decided                      guard, limit, lost
    2.3 s3 settled stopped_by_user user_request
    2.3 s3 books characters=44 marker=15 +fence=8 aside=12 aside_marks=20-31 said=0-19
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Who decides, and what then must come of it.  `silent` and `wish` name their reason themselves.
OUTCOMES = {
    "end": {("completed", "-"), ("empty_response", "-"), ("error", "delivery_lost")},
    "guard": {
        ("completed", "speaker_guard"),
        ("empty_response", "speaker_guard"),
        ("error", "delivery_lost"),
    },
    "failed": {("error", "-")},
    "called": {("function_call", "-")},
    "silent first_token": {("timeout", "inactivity")},
    "silent inactivity": {("timeout", "inactivity")},
    "silent deadline": {("timeout", "deadline")},
    "silent sdk_call_timeout": {("timeout", "sdk_call_timeout")},
    "wish user": {("stopped_by_user", "user_request")},
    "wish system": {("stopped_by_user", "system_request")},
    "wish follow_up": {("follow_up_interrupt", "follow_up")},
    "wish kill": {("stopped_by_user", "killed")},
    "limit": {("stopped_by_user", "send_message_limit")},
    "lost": {("error", "delivery_lost")},
}
_WISHES = frozenset({"wish user", "wish system", "wish follow_up", "wish kill", "limit"})
TAKING = {
    "end": _WISHES,
    "guard": _WISHES,
    "called": _WISHES,
    "wish user": {"wish kill", "limit"},
    "wish system": {"wish kill", "limit"},
}
"""What may still take text back, and then decides, after the first cause."""
CAUSES = frozenset(cause.split()[0] for cause in OUTCOMES)
HUSHING = frozenset({"wish follow_up", "wish kill", "limit", "lost"})
"""After these no send is begun, whenever they come."""
SLACK_S = 1e-6
"""Times are sums of floating-point numbers."""


@dataclass
class Line:
    at: float
    stream: str
    what: str
    words: list[str]

    @property
    def cause(self) -> str:
        told = self.what in ("wish", "silent")
        return f"{self.what} {self.words[0]}" if told else self.what


@dataclass
class Told:
    """One stream's part of a history."""

    name: str
    lines: list[Line] = field(default_factory=list)

    def each(self, *what: str) -> list[Line]:
        return [line for line in self.lines if line.what in what]

    def index(self, what: str) -> int:
        return next((n for n, line in enumerate(self.lines) if line.what == what), -1)


def check(history: Iterable[str]) -> list[str]:
    """What promises a history breaks; none if it is fine."""
    lines = [_line(line) for line in history]
    streams: dict[str, Told] = {}
    for line in lines:
        streams.setdefault(line.stream, Told(line.stream)).lines.append(line)
    found: list[str] = []
    for told in streams.values():
        for promise in (_one_outcome, _the_first_decides, _complete, _quiet, _at_once, _in_order, _once,
                        _drained, _conserved):  # fmt: skip
            found += [f"{told.name} {promise.__name__[1:]}: {fault}" for fault in promise(told)]
    found += [f"not_interleaved: {fault}" for fault in _not_interleaved(lines)]
    return found


def _line(line: str) -> Line:
    at, stream, what, *words = line.split()
    return Line(float(at), stream, what, words)


def marks(text: str) -> list[int]:
    """The numbers of `0-3,7`."""
    out: list[int] = []
    for run in text.split(","):
        if run and run != "-":
            low, _, high = run.partition("-")
            out += range(int(low), int(high or low) + 1)
    return out


def _one_outcome(told: Told) -> Iterator[str]:
    if told.each("cancelled"):
        if told.each("settled"):
            yield "it was cancelled and has an outcome"
        return
    for what in ("decided", "settled"):
        if (count := len(told.each(what))) != 1:
            yield f"{count} times {what}"
    if told.index("settled") < told.index("decided"):
        yield "settled before it was decided"


def _the_first_decides(told: Told) -> Iterator[str]:
    decided = told.index("decided")
    if decided < 0 or not told.each("settled"):
        return
    causes = [line.cause for line in told.lines[:decided] if line.what in CAUSES]
    if not causes:
        yield "decided by nobody"
        return
    outcome = tuple(told.each("settled")[0].words)
    possible, unsure = OUTCOMES.get(causes[0], set()), False
    for line in told.lines[decided:]:
        if line.cause == "lost" and causes[0] in ("end", "guard"):
            break  # an error, which stays
        if line.cause not in TAKING.get(causes[0], ()):
            continue
        if _took_back(told, line.cause):
            possible = (possible if unsure else set()) | OUTCOMES[line.cause]
            break
        if causes[0] == "guard" or _booked(told, line.cause):
            unsure = True  # without marks, it may have been blank; a prefill is in no books
            possible = possible | OUTCOMES[line.cause]
    if outcome not in possible:
        yield f"{causes[0]} came first, and the outcome is {' '.join(outcome)}"


def _took_back(told: Told, cause: str) -> bool:
    """Whether text that can be told apart was taken back for *cause*."""
    if not _booked(told, cause):
        return False
    if cause == "limit":
        return True  # it only cuts off what would have been shown
    books = dict(word.split("=") for line in told.each("books") for word in line.words)
    if "undelivered" in books:
        return False  # the marks that are missing may be those of a lost message
    heard = {mark for line in told.each("chunk") for mark in marks(line.words[1])}
    return bool(heard.difference(marks(books["said"]), marks(books["aside_marks"])))


def _booked(told: Told, cause: str) -> bool:
    """Whether the books say that characters were taken back for *cause*."""
    reason = {"user": "stop", "system": "stop", "kill": "killed"}.get(cause[5:], cause[5:] or cause)
    books = dict(word.split("=") for line in told.each("books") for word in line.words)
    return int(books.get(reason, 0)) > 0


def _complete(told: Told) -> Iterator[str]:
    """A reply is only called delivered if all of it was."""
    settled = told.each("settled")
    if not settled or settled[0].words[0] not in ("completed", "function_call", "empty_response"):
        return
    for cause in ("wish user", "wish follow_up", "wish kill", "limit"):
        if _took_back(told, cause):
            yield f"{settled[0].words[0]}, and text was taken back for {cause}"


def _quiet(told: Told) -> Iterator[str]:
    """No send is begun when nobody wants it; at most one chunk is read after the decision."""
    hushed, decided, stopped = False, False, False
    late = 0
    for line in told.lines:
        if line.what == "send" and hushed:
            yield f"a send begins at {line.at}, after it was not wanted"
        late += line.what == "chunk" and decided
        # A wish after the decision takes back what is not out, unless a stop promised that.
        again = decided and line.what == "wish" and not stopped
        spared = stopped and line.cause == "wish follow_up"
        loud = line.cause in HUSHING and not spared
        hushed = hushed or again or line.what == "cancelled" or loud
        stopped = stopped or (not decided and line.cause in ("wish user", "wish system"))
        decided = decided or line.what == "decided"
    if late > 1:
        yield f"{late} chunks are read after the decision"


def _at_once(told: Told) -> Iterator[str]:
    """A wish decides in the instant it comes."""
    stop_signal, decided = told.each("wish"), told.each("decided")
    if (
        stop_signal
        and decided
        and decided[0].at > max(stop_signal[0].at, told.lines[0].at) + SLACK_S
    ):
        yield f"a wish of {stop_signal[0].at} is decided at {decided[0].at}"


def _in_order(told: Told) -> Iterator[str]:
    sent: dict[str, list[int]] = {}
    for line in told.each("send"):
        sent.setdefault(line.words[0], marks(line.words[2]))
    run = [mark for each in sent.values() for mark in each]
    if run != sorted(run):
        yield "text is sent out of order"
    shown = [line.words[0] for line in told.each("shows")]
    if [nonce for nonce in sent if nonce in shown] != shown:
        yield "messages are shown out of order, or without a call"


def _once(told: Told) -> Iterator[str]:
    shown = [line.words[0] for line in told.each("shows")]
    if len(set(shown)) != len(shown):
        yield "a message is shown twice"
    text = {line.words[0]: marks(line.words[2]) for line in told.each("send")}
    run = [mark for nonce in shown for mark in text.get(nonce, [])]
    if len(set(run)) != len(run):
        yield "a character is shown twice"
    receipts = [line.words[0] for line in told.each("receipt") if line.words[0] != "-"]
    if len(set(receipts)) != len(receipts):
        yield "a message has two receipts"
    for line in told.each("receipt"):
        if line.words[1] in ("refused", "not_sent") and line.words[0] in shown:
            yield f"{line.words[0]} is {line.words[1]} and is shown"
        if line.words[1] == "delivered" and line.words[0] not in shown:
            yield f"{line.words[0]} is delivered and is not shown"


def _drained(told: Told) -> Iterator[str]:
    """Whoever wants it to end waits for so long at most."""
    settled, stop_signal = told.each("settled"), told.each("wish")
    if not settled or not stop_signal:
        return
    opened = told.lines[0]
    drain = float(dict(word.split("=") for word in opened.words)["drain"])
    since = max(stop_signal[0].at, opened.at)
    if settled[0].at > since + drain + SLACK_S:
        yield f"settled {settled[0].at - since} s after the wish"


def _conserved(told: Told) -> Iterator[str]:
    """Every character that was read is in one place; what is in the books is what is shown."""
    if not told.each("books"):
        if told.each("settled"):
            yield "no books"
        return
    books = dict(word.split("=") for word in told.each("books")[0].words)
    said = marks(books.pop("said"))
    aside = marks(books.pop("aside_marks"))
    counts = {name: int(count) for name, count in books.items()}
    read = sum(int(line.words[0]) for line in told.each("chunk"))
    if counts.pop("characters") != read:
        yield "the books count other characters than were read"
    delivered = {line.words[0] for line in told.each("receipt") if line.words[1] == "delivered"}
    text = {line.words[0]: line for line in told.each("send") if line.words[0] in delivered}
    shown = sum(int(line.words[1]) for line in text.values())
    added = sum(count for name, count in counts.items() if name.startswith("+"))
    hidden = sum(count for name, count in counts.items() if not name.startswith("+"))
    if shown - added + hidden != read:
        yield f"{read} read, {shown} shown, {added} added, {hidden} kept: {books}"
    reached = [mark for line in text.values() for mark in marks(line.words[2])]
    if said != reached:
        yield "the text of the result is not what Discord has"
    heard = {mark for line in told.each("chunk") for mark in marks(line.words[1])}
    if not {*reached, *aside} <= heard:
        yield "something is invented"
    if set(reached) & set(aside):
        yield "something hidden is shown"


def _not_interleaved(lines: list[Line]) -> Iterator[str]:
    """In one channel one stream after the other, and one call after the other."""
    place: dict[str, str] = {}
    order: dict[str, list[str]] = defaultdict(list)
    out: dict[str, str] = {}
    for line in lines:
        if line.what == "opens":
            place[line.stream] = line.words[0]
        elif line.what == "send":
            here = place[line.stream]
            if here in out:
                yield f"two calls are out in {here} at {line.at}"
            out[here] = line.stream
            if not order[here] or order[here][-1] != line.stream:
                order[here].append(line.stream)
        elif line.what == "answer":
            out.pop(place[line.stream], None)
    for here, turns in order.items():
        if len(set(turns)) != len(turns):
            yield f"streams interleave in {here}: {' '.join(turns)}"
