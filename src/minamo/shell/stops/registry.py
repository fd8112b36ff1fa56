"""Stop requests, the signals that carry them to streams, and the registry of running streams.

A request reaches the listeners of a stream the moment it is made, before the call returns.  A
registry keeps nothing of a stream after its registration ends, so no request can carry over to the
next stream.  `MemoryStops` is the registry of a single process.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Literal, TypedDict, TypeGuard, Unpack, assert_never

import anyio
import msgspec
from attrs import define, field, frozen

from minamo.errors import BadRequest

# An id is a random token or a snowflake; a longer one is a mistake.
ID_LENGTH_MAX = 64
# The largest signed 64-bit integer; snowflakes reach it in the year 2084.
CHANNEL_ID_MAX = 2**63 - 1
# Usually one stream runs in a channel.  The bound also limits a reply that names them all.
STREAMS_PER_CHANNEL_MAX = 64
# A hint such as "asked by the moderator of …"; it is sent with the request to other processes.
CONTEXT_BYTES_MAX = 4096

StopKind = Literal["user", "follow_up", "kill"]
# A follow-up never overrides a user's stop, and nothing overrides an operator's kill.
_PRIORITY: Mapping[StopKind, int] = {"follow_up": 1, "user": 2, "kill": 3}

#: Context key: the id of the interaction (button or command) that caused the request.  While an
#: old and a new version of a bot overlap, both receive it, and it must count as one request.
INTERACTION = "interaction"

Listener = Callable[["StopRequest"], object]
"""Called with a request.  Exactly False means it is only noted and may still be withdrawn."""
Person = str | int
"""A user's id, as text or as a number; hikari's are numbers."""
Query = Literal["requested", "clear", "running"]


@frozen(slots=True, kw_only=True)
class StopRequest:
    """One stop request; without a requester it is the system's own."""

    kind: StopKind = "user"
    requester: str | None = None
    context: Mapping[str, object] = field(factory=dict, repr=False)
    """Data from the calling program; never shown to users."""
    deadline: float = field(default=math.inf, eq=False, repr=False)
    """Event-loop time after which the requester no longer waits for the stream to settle."""

    def outranks(self, other: StopRequest | None) -> bool:
        """Return whether this request takes precedence over *other*."""
        return other is None or _PRIORITY[self.kind] > _PRIORITY[other.kind]


@define(eq=False)
class StopSignal:
    """The stop requests for one turn.  Only the strongest is kept, so memory is bounded.

    Without a listener a request is kept and passed to the next one.  A listener may also only note
    a request, as a turn does with a stop while its tools finish; until a listener acts on it, the
    request can be withdrawn.
    """

    strongest: StopRequest | None = field(default=None, init=False)
    _accepted: StopRequest | None = field(default=None, init=False, repr=False)
    """The strongest request that was acted on; it cannot be withdrawn."""
    _interaction: object = field(default=None, init=False, repr=False)
    _listeners: list[Listener] = field(factory=list, init=False, repr=False)
    _on_cleared: list[Callable[[], object]] = field(factory=list, init=False, repr=False)
    _arrived: anyio.Event | None = field(default=None, init=False, repr=False)

    def request(self, request: StopRequest) -> None:
        """Pass *request* to every listener, synchronously, and keep the strongest."""
        interaction = request.context.get(INTERACTION)
        if interaction is not None and interaction == self._interaction:
            return
        self._interaction = interaction
        if request.outranks(self.strongest):
            self.strongest = request
        acted = [listener(request) is not False for listener in tuple(self._listeners)]
        if any(acted):
            self._accepted = self.strongest
        if self._arrived is not None:
            self._arrived.set()

    @contextmanager
    def listen(
        self, listener: Listener, on_cleared: Callable[[], object] | None = None
    ) -> Iterator[None]:
        """Call *listener* with each request, and at once with the strongest earlier one.

        *on_cleared* is called when a request that was noted but not acted on is withdrawn.
        """
        self._listeners.append(listener)
        if on_cleared is not None:
            self._on_cleared.append(on_cleared)
        try:
            if self.strongest is not None and listener(self.strongest) is not False:
                self._accepted = self.strongest
            yield
        finally:
            self._listeners.remove(listener)
            if on_cleared is not None:
                self._on_cleared.remove(on_cleared)

    async def wait(self) -> StopRequest:
        """Return the strongest request; wait for one if there is none yet."""
        while self.strongest is None:
            if self._arrived is None:
                self._arrived = anyio.Event()
            await self._arrived.wait()
        self._accepted = self.strongest
        return self.strongest

    def accept(self) -> None:
        """Mark the noted request as acted on: from now on it cannot be withdrawn."""
        self._accepted = self.strongest

    def clear(self) -> bool:
        """Withdraw a request that no listener has acted on yet; return whether there was one."""
        if self.strongest is self._accepted:
            return False
        self.strongest, self._interaction = self._accepted, None
        if self.strongest is None:
            # The event was set for the request just withdrawn; waiters need a new one.
            self._arrived = None
        for on_cleared in tuple(self._on_cleared):
            on_cleared()
        return True


@frozen(slots=True)
class StopAddress:
    """One stream, or all streams of a channel: exactly one of the two ids is given."""

    stream_id: str | None
    channel_id: int | None
    asker: str | None = None
    """If given, only streams that this user asked for, or that have no known asker."""


class AddressArguments(TypedDict, total=False):
    """The streams that a call is about: one of the two ids."""

    stream_id: str | None
    channel_id: int | None


class RequestArguments(AddressArguments, total=False):
    """The streams that a request is for, and who makes it."""

    requester: Person | None
    """The user who asks; None if the system itself does."""
    context: Mapping[str, object] | None
    """JSON values for the caller's own use."""


class StopArguments(RequestArguments, total=False):
    """A user's stop."""

    asker: Person | None
    """If given, streams that another user asked for are not stopped."""


class RequestOutcome(Enum):
    """Whether a request reached a running stream.  Only `YES` is truthy."""

    YES = "yes"
    NO = "no"  # no such stream runs
    UNREACHABLE = "unreachable"  # it may run in a process that could not be queried

    def __bool__(self) -> bool:
        return self is RequestOutcome.YES


@frozen(slots=True)
class Registration:
    """One running stream."""

    channel_id: int
    signal: StopSignal
    asker: str | None = None


class Stops(ABC):
    """A registry of running streams.  Requests take `stream_id=` or `channel_id=`, one of them.

    Subclasses define how a request reaches a stream: `MemoryStops` looks it up in this process,
    `RedisStops` also asks the other processes of the bot.
    """

    def __init__(self) -> None:
        self.streams: dict[str, Registration] = {}
        """The streams of this process, by id."""
        self._channels: dict[int, list[str]] = {}

    @contextmanager
    def register(
        self, stream_id: str, channel_id: int, signal: StopSignal, asker: Person | None = None
    ) -> Iterator[None]:
        """Register a stream until the block exits; *asker* is the user it is for, if known."""
        stream_id, channel_id = checked_stream_id(stream_id), checked_channel_id(channel_id)
        asked_by = None if asker is None else checked_id("asker", asker)
        if stream_id in self.streams:
            raise BadRequest(f"stream_id {stream_id!r} runs already; each stream needs its own")
        stream_ids = self._channels.setdefault(channel_id, [])
        if len(stream_ids) >= STREAMS_PER_CHANNEL_MAX:
            raise BadRequest(f"{STREAMS_PER_CHANNEL_MAX} streams run in channel {channel_id}")
        stream_ids.append(stream_id)
        self.streams[stream_id] = Registration(channel_id, signal, asked_by)
        try:
            yield
        finally:
            del self.streams[stream_id]
            stream_ids.remove(stream_id)
            if not stream_ids:
                del self._channels[channel_id]

    async def request_stop(self, **stop: Unpack[StopArguments]) -> RequestOutcome:
        """Request a user's stop (the system's without `requester=`): received text is still sent.

        With an `asker=`, streams that another user asked for are not stopped.
        """
        return await self._deliver(*_checked("user", **stop))

    async def request_follow_up(self, **stop: Unpack[RequestArguments]) -> RequestOutcome:
        """Request that a stream end for a newer message.  Never overrides a user's stop."""
        return await self._deliver(*_checked("follow_up", **stop))

    async def kill(self, **stop: Unpack[RequestArguments]) -> RequestOutcome:
        """Request an immediate stop that drops unsent text.  Outranks the other kinds."""
        return await self._deliver(*_checked("kill", **stop))

    async def has_stop_request(self, **address: Unpack[AddressArguments]) -> RequestOutcome:
        """Return whether a running stream there has a stop request of any kind."""
        return await self._ask("requested", checked_address(**address))

    async def clear_stop_request(self, **address: Unpack[AddressArguments]) -> RequestOutcome:
        """Withdraw a stop request not acted on yet; return whether there was one.

        A stream acts on a request at once, and then it cannot be withdrawn.  While the tools of a
        turn run, a user's stop gives them a moment to finish and can be withdrawn until then.
        """
        return await self._ask("clear", checked_address(**address))

    async def is_running(self, **address: Unpack[AddressArguments]) -> RequestOutcome:
        """Return whether a stream runs there."""
        return await self._ask("running", checked_address(**address))

    @abstractmethod
    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams running in a channel, in all reachable processes."""

    @abstractmethod
    async def _deliver(self, address: StopAddress, request: StopRequest) -> RequestOutcome:
        """Pass *request* to the streams at *address*."""

    @abstractmethod
    async def _ask(self, query: Query, address: StopAddress) -> RequestOutcome:
        """Apply *query* to the streams at *address*; return whether it holds for one of them."""

    # The streams of this process.

    def find(self, address: StopAddress) -> list[str]:
        """Return the ids of the streams of this process at an address, oldest first."""
        if address.stream_id is not None:
            found = [address.stream_id] if address.stream_id in self.streams else []
        else:
            assert address.channel_id is not None
            found = self._channels.get(address.channel_id, [])
        if address.asker is None:
            return list(found)
        wanted = (None, address.asker)
        return [stream_id for stream_id in found if self.streams[stream_id].asker in wanted]

    def signals(self, stream_ids: Sequence[str]) -> Iterator[tuple[str, StopSignal]]:
        """Yield id and signal of each stream that still runs: a request may end another stream."""
        for stream_id in stream_ids:
            if (stream := self.streams.get(stream_id)) is not None:
                yield stream_id, stream.signal


def holds(query: Query, signal: StopSignal) -> bool:
    """Apply *query* to one running stream; return whether it holds."""
    match query:
        case "requested":
            return signal.strongest is not None
        case "clear":
            return signal.clear()
        case "running":
            return True
        case _:
            assert_never(query)


class MemoryStops(Stops):
    """The registry of a bot with a single process.  It never returns `UNREACHABLE`."""

    def __repr__(self) -> str:
        return f"<MemoryStops, {len(self.streams)} streams>"

    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams running in a channel."""
        return self.find(StopAddress(None, checked_channel_id(channel_id)))

    async def _deliver(self, address: StopAddress, request: StopRequest) -> RequestOutcome:
        outcome = RequestOutcome.NO
        for _, signal in self.signals(self.find(address)):
            signal.request(request)
            outcome = RequestOutcome.YES
        return outcome

    async def _ask(self, query: Query, address: StopAddress) -> RequestOutcome:
        answers = [holds(query, signal) for _, signal in self.signals(self.find(address))]
        return RequestOutcome.YES if any(answers) else RequestOutcome.NO


def _checked(
    kind: StopKind,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
    asker: Person | None = None,
) -> tuple[StopAddress, StopRequest]:
    """Return a checked address, and a request that can be sent to another process as JSON."""
    asked_by = None if requester is None else checked_id("requester", requester)
    try:
        encoded = msgspec.json.encode(dict(context or {}))
        if len(encoded) > CONTEXT_BYTES_MAX:
            raise BadRequest(f"context is longer than {CONTEXT_BYTES_MAX} bytes of JSON")
        # A round trip, so that local and remote listeners receive the same values.
        kept = msgspec.json.decode(encoded, type=dict[str, object])
    # The original message is not repeated: it quotes values that may be private.
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadRequest("context must be a mapping of names to plain JSON values") from None
    request = StopRequest(kind=kind, requester=asked_by, context=kept)
    return checked_address(stream_id=stream_id, channel_id=channel_id, asker=asker), request


def checked_address(
    *, stream_id: str | None = None, channel_id: int | None = None, asker: Person | None = None
) -> StopAddress:
    """Return a checked address; refuse unless exactly one of the two ids is given."""
    if (stream_id is None) == (channel_id is None):
        raise BadRequest("give either stream_id= or channel_id=, one of the two")
    return StopAddress(
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


def _is_word(text: object) -> TypeGuard[str]:
    if not isinstance(text, str) or not 0 < len(text) <= ID_LENGTH_MAX:
        return False
    return text.isprintable() and " " not in text
