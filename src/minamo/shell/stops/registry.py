"""What runs in this process, by stream and by channel, and what can be asked of it.

Everything here is synchronous: a wish acts before the call returns.  Nothing is remembered
of a stream once its registration is over, so no wish can live on to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from typing import Final, Literal, Protocol, TypeGuard, assert_never

import msgspec
from attrs import define, field, frozen

from minamo.errors import BadRequest
from minamo.shell.stops.requests import StopKind, StopRequest, StopSignal

# An id is a random word of ours or a snowflake; a longer one is a mistake.
ID_LENGTH_MAX = 64
# The signed half of 64 bits; snowflakes reach it in the year 2084.
CHANNEL_ID_MAX = 2**63 - 1
# One runs in a channel as a rule.  With a bound, an answer that names them all has one too.
STREAMS_PER_CHANNEL_MAX = 64
# A hint such as "asked by the moderator of …"; it travels with the wish, between processes too.
CONTEXT_BYTES_MAX = 4096

Op = Literal["put", "wished", "forget", "runs"]
Person = str | int
"""A person's id, as text or as a number; hikari's are numbers."""


@frozen(slots=True)
class Address:
    """One stream, or whatever runs in a channel: exactly one of the two is given."""

    stream_id: str | None
    channel_id: int | None
    asker: str | None = None
    """Only what this person asked for, or nobody in particular."""


@frozen(slots=True)
class Registration:
    """One stream that runs."""

    channel_id: int
    wishes: StopSignal
    asker: str | None = None

    def is_for(self, asker: str | None) -> bool:
        """Whether *asker*, if one is named, may have a say in it."""
        return asker is None or self.asker in (None, asker)


@define(eq=False)
class StreamRegistry:
    """The streams that run in this process."""

    streams: dict[str, Registration] = field(factory=dict, init=False)
    _channels: dict[int, list[str]] = field(factory=dict, init=False, repr=False)

    @contextmanager
    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> Iterator[None]:
        """Make a stream reachable until the block is left, however that happens."""
        stream_id, channel_id = checked_stream_id(stream_id), checked_channel_id(channel_id)
        asked_by = None if asker is None else checked_id("asker", asker)
        if stream_id in self.streams:
            raise BadRequest(f"stream_id {stream_id!r} runs already; each stream needs its own")
        here = self._channels.setdefault(channel_id, [])
        if len(here) >= STREAMS_PER_CHANNEL_MAX:
            raise BadRequest(f"{STREAMS_PER_CHANNEL_MAX} streams run in channel {channel_id}")
        here.append(stream_id)
        self.streams[stream_id] = Registration(channel_id, wishes, asked_by)
        try:
            yield
        finally:
            del self.streams[stream_id]
            here.remove(stream_id)
            if not here:
                del self._channels[channel_id]

    def find(self, address: Address) -> list[str]:
        """The streams at an address, oldest first."""
        if address.stream_id is not None:
            there = [address.stream_id] if address.stream_id in self.streams else []
        else:
            assert address.channel_id is not None
            there = self._channels.get(address.channel_id, [])
        return [one for one in there if self.streams[one].is_for(address.asker)]

    def do(self, op: Op, stream_ids: Sequence[str], wish: StopRequest | None = None) -> list[str]:
        """Put a wish, ask for one, or take it back; the streams of which it is true now."""
        return [
            stream_id
            for stream_id in stream_ids
            # Looked up each time: the wish for one may end another.
            if (found := self.streams.get(stream_id)) is not None and _done(op, found.wishes, wish)
        ]


def _done(op: Op, wishes: StopSignal, wish: StopRequest | None) -> bool:
    match op:
        case "put":
            assert wish is not None
            wishes.put(wish)
            return True
        case "wished":
            return wishes.strongest is not None
        case "forget":
            return wishes.forget()
        case "runs":
            return True
        case _:
            assert_never(op)


def addressed(
    stream_id: str | None, channel_id: int | None, asker: Person | None = None
) -> Address:
    """An address, if exactly one of its two forms was given."""
    if (stream_id is None) == (channel_id is None):
        raise BadRequest("give either stream_id= or channel_id=, one of the two")
    return Address(
        None if stream_id is None else checked_stream_id(stream_id),
        None if channel_id is None else checked_channel_id(channel_id),
        None if asker is None else checked_id("asker", asker),
    )


def checked_stream_id(stream_id: object) -> str:
    """A stream's id: a short printable word."""
    if not _is_word(stream_id):
        raise BadRequest(f"stream_id must be a word of 1 to {ID_LENGTH_MAX} printable characters")
    return stream_id


def checked_channel_id(channel_id: object) -> int:
    """A channel's id: a snowflake, whole and above zero."""
    if not isinstance(channel_id, int) or isinstance(channel_id, bool):
        raise BadRequest(f"channel_id must be a number, not {type(channel_id).__name__}")
    if not 0 < channel_id <= CHANNEL_ID_MAX:
        raise BadRequest("channel_id must be above 0 and below 2**63")
    return int(channel_id)  # hikari's snowflakes are numbers of a class of their own


def checked_id(name: str, person: object) -> str:
    """A person's id, as a short printable word; a number, such as hikari's, is one as well."""
    if isinstance(person, int) and not isinstance(person, bool):
        person = str(int(person))
    if not _is_word(person):
        raise BadRequest(
            f"{name} must be an id, a number or 1 to {ID_LENGTH_MAX} printable characters, or None"
        )
    return person


def checked_wish(
    kind: StopKind, requester: Person | None, context: Mapping[str, object] | None
) -> StopRequest:
    """A wish that can travel to another process, whether it has to or not."""
    asked_by = None if requester is None else checked_id("requester", requester)
    try:
        told = msgspec.json.encode(dict(context or {}))
        if len(told) > CONTEXT_BYTES_MAX:
            raise BadRequest(f"context is longer than {CONTEXT_BYTES_MAX} bytes of JSON")
        # There and back, so that it looks the same to whoever hears it, near or far.
        kept = msgspec.json.decode(told, type=dict[str, object])
    # Its own words are not repeated: they quote what may be private.
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadRequest("context must be a mapping of names to plain JSON values") from None
    return StopRequest(kind=kind, requester=asked_by, context=kept)


def _is_word(text: object) -> TypeGuard[str]:
    if not isinstance(text, str) or not 0 < len(text) <= ID_LENGTH_MAX:
        return False
    return text.isprintable() and " " not in text


class RequestOutcome(Enum):
    """Whether a request reached something that runs.  Only `YES` is true."""

    YES = "yes"
    NO = "no"  # nothing of that kind runs
    UNREACHABLE = "unreachable"  # it may run in another process, which could not be asked

    def __bool__(self) -> bool:
        return self is RequestOutcome.YES


class Carries(Protocol):
    """A registry, as these functions see it."""

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        """Do that to whatever runs at an address."""
        ...


async def request_stop(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
    asker: Person | None = None,
) -> RequestOutcome:
    """A person's stop; without a requester the system's own.  With an *asker*, only of theirs."""
    wish = checked_wish("user", requester, context)
    return await self._do("put", addressed(stream_id, channel_id, asker), wish)


async def request_follow_up(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
) -> RequestOutcome:
    """Make way for a newer message."""
    wish = checked_wish("follow_up", requester, context)
    return await self._do("put", addressed(stream_id, channel_id), wish)


async def kill(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
) -> RequestOutcome:
    """An operator's stop: at once, and what was not sent is dropped."""
    wish = checked_wish("kill", requester, context)
    return await self._do("put", addressed(stream_id, channel_id), wish)


async def has_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Whether a wish of any kind was put to something that still runs there."""
    return await self._do("wished", addressed(stream_id, channel_id))


async def clear_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Take back a wish that was not acted on yet; whether there was one."""
    return await self._do("forget", addressed(stream_id, channel_id))


async def is_running(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Whether something runs there."""
    return await self._do("runs", addressed(stream_id, channel_id))


class Stops(Protocol):
    """A registry of running streams.  Requests take `stream_id=` or `channel_id=`, one of them."""

    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Make a stream reachable until the block is left; *asker* is who it is for, if known."""
        ...

    async def request_stop(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
        asker: Person | None = None,
    ) -> RequestOutcome:
        """A person's stop (the system's own without a requester): what was said is still sent.

        With an *asker*, what somebody else asked for is not stopped.
        """
        ...

    async def request_follow_up(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
    ) -> RequestOutcome:
        """Make way for a newer message.  Never overrides a person's stop, though it reaches."""
        ...

    async def kill(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
    ) -> RequestOutcome:
        """An operator's stop: at once, and what was not sent is dropped.  Outranks the others."""
        ...

    async def has_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Whether a wish of any kind was put to something that still runs there."""
        ...

    async def clear_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Take back a wish that was not acted on yet; whether there was one.

        A stream acts on a wish the moment it is put, and then it is too late.  While the tools of a
        turn run, a user's stop lets them finish for a moment, and so long it can be taken back.
        """
        ...

    async def is_running(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Whether something runs there."""
        ...

    async def running(self, channel_id: int) -> list[str]:
        """The ids of the streams that run in a channel, as far as they can be reached."""
        ...


class MemoryStops:
    """The registry of a bot that is one process.  Its answers are final: never unreachable."""

    def __init__(self) -> None:
        self._board = StreamRegistry()

    def __repr__(self) -> str:
        return f"MemoryStops(_board={self._board!r})"

    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Make a stream reachable until the block is left, however that happens."""
        return self._board.register(stream_id, channel_id, wishes, asker)

    request_stop: Final = request_stop
    request_follow_up: Final = request_follow_up
    kill: Final = kill
    has_stop_request: Final = has_stop_request
    clear_stop_request: Final = clear_stop_request
    is_running: Final = is_running

    async def running(self, channel_id: int) -> list[str]:
        """The ids of the streams that run in a channel."""
        return self._board.find(Address(None, checked_channel_id(channel_id)))

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        return (
            RequestOutcome.YES
            if self._board.do(op, self._board.find(address), wish)
            else RequestOutcome.NO
        )
