"""Registry of running streams, by stream and by channel, and the stop requests to them.

`StreamRegistry` is synchronous: a request takes effect before the call returns.  It keeps nothing
of a stream after its registration ends, so no request can carry over to the next stream.  `Stops`
is the protocol that the client uses, `MemoryStops` its implementation for a single process.
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

# An id is a random token or a snowflake; a longer one is a mistake.
ID_LENGTH_MAX = 64
# The largest signed 64-bit integer; snowflakes reach it in the year 2084.
CHANNEL_ID_MAX = 2**63 - 1
# Usually one stream runs in a channel.  The bound also limits a reply that names them all.
STREAMS_PER_CHANNEL_MAX = 64
# A hint such as "asked by the moderator of …"; it is sent with the request to other processes.
CONTEXT_BYTES_MAX = 4096

Op = Literal["put", "wished", "forget", "runs"]
Person = str | int
"""A user's id, as text or as a number; hikari's are numbers."""


@frozen(slots=True)
class Address:
    """One stream, or all streams of a channel: exactly one of the two ids is given."""

    stream_id: str | None
    channel_id: int | None
    asker: str | None = None
    """If given, only streams that this user asked for, or that have no known asker."""


@frozen(slots=True)
class Registration:
    """One running stream."""

    channel_id: int
    wishes: StopSignal
    asker: str | None = None

    def is_for(self, asker: str | None) -> bool:
        """Return whether *asker* is None, is this stream's asker, or the stream has none."""
        return asker is None or self.asker in (None, asker)


@define(eq=False)
class StreamRegistry:
    """The running streams of this process."""

    streams: dict[str, Registration] = field(factory=dict, init=False)
    _channels: dict[int, list[str]] = field(factory=dict, init=False, repr=False)

    @contextmanager
    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> Iterator[None]:
        """Register a stream until the block exits, normally or not."""
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
        """Return the ids of the streams at an address, oldest first."""
        if address.stream_id is not None:
            there = [address.stream_id] if address.stream_id in self.streams else []
        else:
            assert address.channel_id is not None
            there = self._channels.get(address.channel_id, [])
        return [one for one in there if self.streams[one].is_for(address.asker)]

    def do(self, op: Op, stream_ids: Sequence[str], wish: StopRequest | None = None) -> list[str]:
        """Apply *op* to each stream; return the ids of those for which it holds."""
        return [
            stream_id
            for stream_id in stream_ids
            # Looked up each time: a request to one stream may end another.
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
    """Return a checked address; refuse unless exactly one of the two ids is given."""
    if (stream_id is None) == (channel_id is None):
        raise BadRequest("give either stream_id= or channel_id=, one of the two")
    return Address(
        None if stream_id is None else checked_stream_id(stream_id),
        None if channel_id is None else checked_channel_id(channel_id),
        None if asker is None else checked_id("asker", asker),
    )


def checked_stream_id(stream_id: object) -> str:
    """Return *stream_id* if it is a short printable word."""
    if not _is_word(stream_id):
        raise BadRequest(f"stream_id must be a word of 1 to {ID_LENGTH_MAX} printable characters")
    return stream_id


def checked_channel_id(channel_id: object) -> int:
    """Return *channel_id* as a plain int if it is a snowflake above zero."""
    if not isinstance(channel_id, int) or isinstance(channel_id, bool):
        raise BadRequest(f"channel_id must be a number, not {type(channel_id).__name__}")
    if not 0 < channel_id <= CHANNEL_ID_MAX:
        raise BadRequest("channel_id must be above 0 and below 2**63")
    return int(channel_id)  # hikari's Snowflake is a subclass of int


def checked_id(name: str, person: object) -> str:
    """Return a user's id as a short printable word; numbers, such as hikari's, are converted."""
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
    """Return a checked stop request that can be sent to another process as JSON."""
    asked_by = None if requester is None else checked_id("requester", requester)
    try:
        told = msgspec.json.encode(dict(context or {}))
        if len(told) > CONTEXT_BYTES_MAX:
            raise BadRequest(f"context is longer than {CONTEXT_BYTES_MAX} bytes of JSON")
        # A round trip, so that local and remote listeners receive the same values.
        kept = msgspec.json.decode(told, type=dict[str, object])
    # The original message is not repeated: it quotes values that may be private.
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadRequest("context must be a mapping of names to plain JSON values") from None
    return StopRequest(kind=kind, requester=asked_by, context=kept)


def _is_word(text: object) -> TypeGuard[str]:
    if not isinstance(text, str) or not 0 < len(text) <= ID_LENGTH_MAX:
        return False
    return text.isprintable() and " " not in text


class RequestOutcome(Enum):
    """Whether a request reached a running stream.  Only `YES` is truthy."""

    YES = "yes"
    NO = "no"  # no such stream runs
    UNREACHABLE = "unreachable"  # it may run in a process that could not be queried

    def __bool__(self) -> bool:
        return self is RequestOutcome.YES


class Carries(Protocol):
    """The part of a registry that the functions below use."""

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        """Apply *op* to the streams at an address."""
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
    """Request a user's stop; `Stops.request_stop` explains *requester* and *asker*."""
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
    """Request that a stream end in favour of a newer message."""
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
    """Request an operator's stop: immediate, and unsent text is dropped."""
    wish = checked_wish("kill", requester, context)
    return await self._do("put", addressed(stream_id, channel_id), wish)


async def has_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Return whether a running stream there has a stop request of any kind."""
    return await self._do("wished", addressed(stream_id, channel_id))


async def clear_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Withdraw a stop request not acted on yet; return whether there was one."""
    return await self._do("forget", addressed(stream_id, channel_id))


async def is_running(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> RequestOutcome:
    """Return whether a stream runs there."""
    return await self._do("runs", addressed(stream_id, channel_id))


class Stops(Protocol):
    """A registry of running streams.  Requests take `stream_id=` or `channel_id=`, one of them."""

    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Register a stream until the block exits; *asker* is the user it is for, if known."""
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
        """Request a user's stop (the system's without *requester*): received text is still sent.

        With an *asker*, streams that another user asked for are not stopped.
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
        """Request that a stream end for a newer message.  Never overrides a user's stop."""
        ...

    async def kill(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
    ) -> RequestOutcome:
        """Request an immediate stop that drops unsent text.  Outranks the other kinds."""
        ...

    async def has_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Return whether a running stream there has a stop request of any kind."""
        ...

    async def clear_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Withdraw a stop request not acted on yet; return whether there was one.

        A stream acts on a request at once, and then it cannot be withdrawn.  While the tools of a
        turn run, a user's stop gives them a moment to finish and can be withdrawn until then.
        """
        ...

    async def is_running(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> RequestOutcome:
        """Return whether a stream runs there."""
        ...

    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams running in a channel, in all reachable processes."""
        ...


class MemoryStops:
    """The registry of a bot with a single process.  It never returns `UNREACHABLE`."""

    def __init__(self) -> None:
        self._board = StreamRegistry()

    def __repr__(self) -> str:
        return f"MemoryStops(_board={self._board!r})"

    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Register a stream until the block exits, normally or not."""
        return self._board.register(stream_id, channel_id, wishes, asker)

    request_stop: Final = request_stop
    request_follow_up: Final = request_follow_up
    kill: Final = kill
    has_stop_request: Final = has_stop_request
    clear_stop_request: Final = clear_stop_request
    is_running: Final = is_running

    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams running in a channel."""
        return self._board.find(Address(None, checked_channel_id(channel_id)))

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        return (
            RequestOutcome.YES
            if self._board.do(op, self._board.find(address), wish)
            else RequestOutcome.NO
        )
