"""From text to deliveries: the number of a message, where it goes, and what goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import define, evolve, field

from minamo.machine.machine import Observer
from minamo.shell.sending.delivery import Delivery
from minamo.shell.sending.overflow import Overflowing
from minamo.shell.sending.receipts import Receipt, nonce_for
from minamo.shell.sending.sender import SUPPRESS_EMBEDS, File, Kind, Post, Sender
from minamo.shell.sending.source import Manner, Source, Text


@define(eq=False)
class Composer:
    """Makes the messages of one stream."""

    channel_id: int
    sender: Sender
    manner: Manner
    stream_id: str
    settled: Callable[[Receipt], object] = field(repr=False)
    on_end: Callable[[], object] = field(repr=False)
    watch: Observer | None = None
    count: int = field(default=0, init=False)
    """Messages made so far."""
    overflow: Overflowing | None = field(init=False)

    @overflow.default
    def _make_overflow(self) -> Overflowing | None:
        wanted = self.manner.overflow
        return Overflowing(wanted) if wanted is not None and wanted.to != "split" else None

    @property
    def collecting(self) -> bool:
        """Whether what comes waits for the end of the stream."""
        return self.overflow is not None and self.overflow.collects(self.count)

    @property
    def room(self) -> int | None:
        """How many messages may be made as ever; None if all."""
        return None if self.overflow is None else self.overflow.room(self.count)

    def look_at_size(self, source: Source) -> None:
        """Split what will never be a file: a character has one byte at least."""
        overflow = self.overflow
        if overflow is None or not overflow.collects(self.count):
            return
        if source.waiting > overflow.rules.bytes_max:
            overflow.split("too_large")

    def compose(self, text: Text, at: float, *, ending: bool = False) -> Delivery:
        """One message; *ending* says that the stream has no more to say than this and the like."""
        kind: Kind = getattr(text, "kind", "create")
        post = self._post(text.text, is_new=kind == "create", ending=ending)
        return self._delivery(post, kind, getattr(text, "target", 0), at)

    def compose_file(self, text: str, at: float) -> Delivery | None:
        """The rest of the reply as one message; None if it is too large."""
        assert self.overflow is not None
        rules = self.overflow.rules
        file = File(rules.file_name, text)
        if len(file.data) > rules.bytes_max:
            self.overflow.split("too_large")
            return None
        post = evolve(self._post("", is_new=True, ending=True), file=file)
        return self._delivery(post, "create", 0, at)

    def uncompose(self) -> None:
        """The last message was not taken and will be others: its number is free again."""
        self.count -= 1

    def move(self, fitted: Iterable[Delivery], thread_id: int) -> None:
        """Go on in a thread, with what is fitted already, too."""
        assert self.overflow is not None
        self.overflow.thread_id = thread_id
        for one in fitted:
            one.post = evolve(one.post, channel_id=thread_id)

    def plain(self) -> Post:
        """The edit that takes the button away."""
        manner = self.manner
        return Post(
            channel_id=self.channel_id, text="", ping=manner.ping, flags=manner.flags, bare=True
        )

    def _delivery(self, post: Post, kind: Kind, target: int, at: float) -> Delivery:
        made = Delivery(
            post, self.settled, index=self.count, kind=kind, target=target, at=at, watch=self.watch
        )
        made.on_end = self.on_end
        if self.overflow is not None and self.overflow.note:
            made.note = self.overflow.take_note()
        self.count += 1
        return made

    def _post(self, text: str, *, is_new: bool, ending: bool) -> Post:
        first, manner = self.count == 0, self.manner
        embed = manner.embed if first else None
        flags = manner.flags
        if embed is not None and not text:
            flags &= ~SUPPRESS_EMBEDS  # it would hide this one, and there is no address to preview
        has_nonce = is_new and self.sender.has_nonce
        place = self.channel_id
        if self.overflow is not None and self.overflow.thread_id is not None:
            place = self.overflow.thread_id
        return Post(
            channel_id=place,
            text=text,
            nonce=nonce_for(self.stream_id, self.count) if has_nonce else None,
            reply_to=manner.reply_to if first else None,
            ping=manner.ping,
            flags=flags,
            embed=embed,
            # A reply that is whole when it appears has nothing to be stopped.
            button=manner.button if first and not ending else None,
        )
