"""The messages of one stream, composed from its texts: options, nonces, and where they go.

A message goes to the channel or, beyond a number of messages, to a file or a thread.  Nothing here
makes calls.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2s

from attrs import define, field

from minamo.core.messages import SUPPRESS_EMBEDS, File, OutgoingMessage, Receipt, Sendable
from minamo.machine.machine import Observer
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import Sender, SendOptions
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

    def compose(
        self, text: Sendable, at: float, *, ending: bool = False, file: File | None = None
    ) -> Delivery:
        """Return one message; *ending* means that no further text will arrive for the stream."""
        delivery = Delivery(
            self._post(text, file, ending=ending),
            self.settled,
            index=self.count,
            kind=text.kind,
            target=text.target,
            at=at,
            watch=self.watch,
        )
        delivery.on_end = self.on_end
        if self.overflow is not None and self.overflow.note:
            delivery.note = self.overflow.take_note()
        self.count += 1
        return delivery

    def uncompose(self) -> None:
        """Free the index of the last message: it was refused and will be composed differently."""
        self.count -= 1

    def without_button(self) -> OutgoingMessage:
        """Return the edit that removes the button."""
        manner = self.manner
        return OutgoingMessage(
            channel_id=self.channel_id, text="", ping=manner.ping, flags=manner.flags, bare=True
        )

    def _post(self, text: Sendable, file: File | None, *, ending: bool) -> OutgoingMessage:
        first, manner = self.count == 0, self.manner
        embed = manner.embed if first else None
        flags = manner.flags
        extras = manner.extras if first else None
        if not text.text and (embed is not None or (extras is not None and extras.embeds)):
            flags &= ~SUPPRESS_EMBEDS  # it would hide this embed, and there is no link to preview
        has_nonce = text.kind == "create" and self.sender.has_nonce
        place = self.channel_id
        if self.overflow is not None and self.overflow.thread_id is not None:
            place = self.overflow.thread_id
        return OutgoingMessage(
            channel_id=place,
            text=text.text,
            nonce=nonce_for(self.stream_id, self.count) if has_nonce else None,
            reply_to=manner.reply_to if first else None,
            ping=manner.ping,
            flags=flags,
            embed=embed,
            extras=extras,
            file=file,
            # A reply that is complete when it appears cannot be stopped.
            button=manner.button if first and not ending else None,
        )
