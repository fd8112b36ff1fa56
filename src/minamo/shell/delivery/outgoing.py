"""The send queue of one stream: unsent text, and fitted messages without a receipt.

It also decides where messages go: to the channel or, beyond a number of messages, to a file or a
thread.  It makes no calls.
"""

from __future__ import annotations

from base64 import b32encode
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2s
from typing import cast

from attrs import define, evolve, field

from minamo.core.messages import SUPPRESS_EMBEDS, File, Kind, OutgoingMessage, Receipt
from minamo.errors import BadSetting
from minamo.machine.machine import Observer
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import (
    HasText,
    MessageSource,
    Sender,
    SendOptions,
    SplittableSource,
)
from minamo.shell.delivery.overflow import OverflowState

# Discord refuses a longer nonce.
NONCE_MAX = 25
# 80 bits: two streams of one bot share a digest once in 10^12 replies.
_DIGEST_BYTES = 10


def nonce_for(stream_id: str, index: int) -> str:
    """Return the nonce of a message: the same for each attempt, different for each message.

    Discord remembers it for only a few minutes; a stream's id must not be reused within them.
    """
    nonce = f"{_digest(stream_id)}-{index}"
    assert len(nonce) <= NONCE_MAX, f"message {index} of one stream"
    return nonce


@lru_cache(maxsize=256)  # concurrent streams
def _digest(stream_id: str) -> str:
    named = stream_id.encode("utf-8", "surrogatepass")
    return b32encode(blake2s(named, digest_size=_DIGEST_BYTES).digest()).decode().lower()


@define(eq=False)
class Composer:
    """The factory for the messages of one stream."""

    channel_id: int
    sender: Sender
    manner: SendOptions
    stream_id: str
    settled: Callable[[Receipt], object] = field(repr=False)
    on_end: Callable[[], object] = field(repr=False)
    watch: Observer | None = None
    count: int = field(default=0, init=False)
    """Number of messages composed so far."""
    overflow: OverflowState | None = field(init=False)

    @overflow.default
    def _make_overflow(self) -> OverflowState | None:
        wanted = self.manner.overflow
        return OverflowState(wanted) if wanted is not None and wanted.to != "split" else None

    @property
    def collecting(self) -> bool:
        """Whether further text waits for the end of the stream."""
        return self.overflow is not None and self.overflow.collects(self.count)

    @property
    def room(self) -> int | None:
        """Number of ordinary messages still allowed; None if unlimited."""
        return None if self.overflow is None else self.overflow.room(self.count)

    def look_at_size(self, source: MessageSource) -> None:
        """Split if the waiting text is too large for a file: a character has at least a byte."""
        overflow = self.overflow
        if overflow is None or not overflow.collects(self.count):
            return
        if source.waiting > overflow.rules.bytes_max:
            overflow.split("too_large")

    def compose(self, text: HasText, at: float, *, ending: bool = False) -> Delivery:
        """Return one message; *ending* means that no further text will arrive for the stream."""
        kind: Kind = getattr(text, "kind", "create")
        post = self._post(text.text, is_new=kind == "create", ending=ending)
        return self._delivery(post, kind, getattr(text, "target", 0), at)

    def compose_file(self, text: str, at: float) -> Delivery | None:
        """Return the rest of the reply as one file message; None if it is too large."""
        assert self.overflow is not None
        rules = self.overflow.rules
        file = File(rules.file_name, text)
        if len(file.data) > rules.bytes_max:
            self.overflow.split("too_large")
            return None
        post = evolve(self._post("", is_new=True, ending=True), file=file)
        return self._delivery(post, "create", 0, at)

    def uncompose(self) -> None:
        """Free the index of the last message: it was refused and will be composed differently."""
        self.count -= 1

    def move(self, fitted: Iterable[Delivery], thread_id: int) -> None:
        """Continue in a thread, and redirect the already *fitted* messages there."""
        assert self.overflow is not None
        self.overflow.thread_id = thread_id
        for one in fitted:
            one.post = evolve(one.post, channel_id=thread_id)

    def plain(self) -> OutgoingMessage:
        """Return the edit that removes the button."""
        manner = self.manner
        return OutgoingMessage(
            channel_id=self.channel_id, text="", ping=manner.ping, flags=manner.flags, bare=True
        )

    def _delivery(self, post: OutgoingMessage, kind: Kind, target: int, at: float) -> Delivery:
        made = Delivery(
            post, self.settled, index=self.count, kind=kind, target=target, at=at, watch=self.watch
        )
        made.on_end = self.on_end
        if self.overflow is not None and self.overflow.note:
            made.note = self.overflow.take_note()
        self.count += 1
        return made

    def _post(self, text: str, *, is_new: bool, ending: bool) -> OutgoingMessage:
        first, manner = self.count == 0, self.manner
        embed = manner.embed if first else None
        flags = manner.flags
        extras = manner.extras if first else None
        if not text and (embed is not None or (extras is not None and extras.embeds)):
            flags &= ~SUPPRESS_EMBEDS  # it would hide this embed, and there is no link to preview
        has_nonce = is_new and self.sender.has_nonce
        place = self.channel_id
        if self.overflow is not None and self.overflow.thread_id is not None:
            place = self.overflow.thread_id
        return OutgoingMessage(
            channel_id=place,
            text=text,
            nonce=nonce_for(self.stream_id, self.count) if has_nonce else None,
            reply_to=manner.reply_to if first else None,
            ping=manner.ping,
            flags=flags,
            embed=embed,
            extras=extras,
            # A reply that is complete when it appears cannot be stopped.
            button=manner.button if first and not ending else None,
        )


@define(eq=False, repr=False)
class Fitting:
    """The fitted messages of one source, composed on demand of the lane."""

    _source: MessageSource
    _composer: Composer
    _fitted: deque[Delivery] = field(factory=deque, init=False)

    def __attrs_post_init__(self) -> None:
        """Refuse an overflow for a source that cannot be split."""
        if self._composer.overflow is not None and not hasattr(self._source, "take_rest"):
            raise BadSetting("overflow: a reply that is edited in place can only be split")

    @property
    def held(self) -> int:
        """Characters accepted and not yet acknowledged; text collected for a file is excluded."""
        waiting = 0 if self._composer.collecting else self._source.waiting
        return waiting + sum(one.post.characters for one in self._fitted)

    @property
    def first(self) -> Delivery | None:
        """The next message to send, if one is fitted."""
        return self._fitted[0] if self._fitted else None

    @property
    def kind(self) -> Kind:
        """The kind of the next call."""
        if self._fitted:
            return self._fitted[0].kind
        kind: Kind = getattr(self._source, "kind", "create")
        return kind

    def busy(self, *, ending: bool) -> bool:
        """Return whether there is work; a file is only made when the stream is ending."""
        if self._fitted:
            return True
        return self._source.waiting > 0 and (ending or not self._composer.collecting)

    def is_last(self) -> bool:
        """Return whether no text waits behind the next message."""
        return len(self._fitted) <= 1 and not self._source.waiting

    def look_at_size(self) -> None:
        """Split if the waiting text is already too large for a file."""
        self._composer.look_at_size(self._source)

    def fit(self, most: int | None, now: float, *, ending: bool) -> Delivery | None:
        """Compose messages from waiting text; return the first, or None if it was blank."""
        if self._composer.collecting:
            self._fit_file(now)
        if not self._composer.collecting:
            room = self._composer.room
            if room is None:
                texts = self._source.take(most)
            else:
                texts = cast(SplittableSource, self._source).take(most, room)
            for text in texts:
                self._fitted.append(self._composer.compose(text, now, ending=ending))
        return self.first

    def settle(self) -> Delivery | None:
        """Drop ended messages; return the first one if it has ended."""
        one = self._fitted[0]
        if one.ended:
            return self._fitted.popleft()
        # A later one was withdrawn.
        self._fitted = deque(one for one in self._fitted if not one.ended)
        return None

    def echoed(self, nonce: str, message_id: int, now: float) -> None:
        """Record that the gateway reported a message with this nonce."""
        for one in self._fitted:
            if one.post.nonce == nonce:
                one.echoed(message_id, now)
                return

    def withdraw(self, reason: str, now: float) -> None:
        """Withdraw every message whose call has not begun."""
        for one in list(self._fitted):
            one.withdraw(reason, now)

    def give_up(self, reason: str, now: float) -> None:
        """End every message with a receipt, without waiting for its outcome."""
        for one in list(self._fitted):
            one.give_up(reason, now)

    def drop_rest(self, channel_id: int, reason: str, now: float) -> Receipt | None:
        """Withdraw text that was never fitted; return its receipt, or None if there was none."""
        waiting = self._source.waiting
        kind: Kind = getattr(self._source, "kind", "create") if waiting else "create"
        # Also if no text waits yet: pages may follow the one in flight.
        self._source.withdraw(reason)
        if not waiting:
            return None
        return Receipt(
            outcome="not_sent",
            channel_id=channel_id,
            index=self._composer.count,
            characters=waiting,
            reason=reason,
            kind=kind,
            settled_at=now,
        )

    # For the lane: the results of thread and file calls.

    def next_thread(self, last: Receipt | None) -> tuple[int, str] | None:
        """Return message id and name for a thread due before the next message, or None."""
        first, overflow = self.first, self._composer.overflow
        if first is None or overflow is None or not overflow.needs_thread(first.index):
            return None
        if last is None or last.message_id is None:
            overflow.split("no_message")
            first.note = overflow.take_note()
            return None
        return last.message_id, overflow.rules.thread_name

    def threaded(self, thread_id: int | None, reason: str = "") -> None:
        """Continue in the thread *thread_id*; if None, split the reply and note the *reason*."""
        first, overflow = self.first, self._composer.overflow
        assert overflow is not None
        if thread_id is not None:
            self._composer.move(self._fitted, thread_id)
            return
        overflow.split(reason)
        if first is not None:
            first.note = overflow.take_note()

    def unfiled(self, delivery: Delivery, reason: str) -> None:
        """Turn the text of a file that Discord refused into messages."""
        overflow = self._composer.overflow
        assert overflow is not None
        self._fitted.remove(delivery)
        self._composer.uncompose()
        overflow.split(reason)
        cast(SplittableSource, self._source).put_rest_back()

    @property
    def unbuttoning(self) -> OutgoingMessage:
        """The edit that removes the button."""
        return self._composer.plain()

    def _fit_file(self, now: float) -> None:
        source = cast(SplittableSource, self._source)
        text = source.take_rest()
        if not text.strip():
            return
        made = self._composer.compose_file(text, now)
        if made is None:
            source.put_rest_back()
        else:
            self._fitted.append(made)
