"""Query protocol between the processes of a bot: its messages, and broadcasting over Redis.

PUBLISH returns the number of subscribers, so the sender knows when all have replied; it only ever
waits for a process that hangs, and not beyond its deadline.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import anyio
import msgspec
from attrs import define, field
from msgspec import Meta

from minamo.shell.stops.redis_link import RedisLink
from minamo.shell.stops.registry import (
    CHANNEL_ID_MAX,
    ID_LENGTH_MAX,
    STREAMS_PER_CHANNEL_MAX,
    Query,
    StopAddress,
    StopKind,
    StopRequest,
    Stops,
    holds,
)

VERSION: Literal[1] = 1
# A query at its limits is about 9 kB: 64 ids of 64 characters, and the context.
MESSAGE_BYTES_MAX = 32_768

Id = Annotated[str, Meta(min_length=1, max_length=ID_LENGTH_MAX)]
StreamIds = Annotated[tuple[Id, ...], Meta(max_length=STREAMS_PER_CHANNEL_MAX)]
Op = Query | Literal["request"]
ChannelId = Annotated[int, Meta(gt=0, le=CHANNEL_ID_MAX)]


class Question(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A query sent to every process."""

    v: Literal[1]
    id: Id
    sender: Id
    op: Literal["find"] | Op
    channel: ChannelId | None = None
    streams: StreamIds = ()
    kind: StopKind | None = None
    requester: Id | None = None
    asker: Id | None = None
    context: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if (self.op == "find") != (self.channel is not None):
            raise ValueError("only a query to find streams names a channel, and must")
        if (self.op == "request") != (self.kind is not None):
            raise ValueError("only a stop request has a kind, and must")

    @property
    def request(self) -> StopRequest:
        """The stop request to deliver."""
        assert self.kind is not None
        return StopRequest(kind=self.kind, requester=self.requester, context=self.context)


class QueryReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One process's reply: its streams for which the query holds, often none."""

    v: Literal[1]
    id: Id
    sender: Id
    streams: StreamIds


_questions = msgspec.json.Decoder(Question)
_answers = msgspec.json.Decoder(QueryReply)
_encoder = msgspec.json.Encoder()


def encoded(message: Question | QueryReply) -> bytes:
    """Return *message* as JSON bytes."""
    return _encoder.encode(message)


def question_of(data: bytes) -> Question | None:
    """Return the query in *data*, or None if it is not a valid one."""
    try:
        return _questions.decode(data) if len(data) <= MESSAGE_BYTES_MAX else None
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def answer_of(data: bytes) -> QueryReply | None:
    """Return the reply in *data*, or None if it is not a valid one."""
    try:
        return _answers.decode(data) if len(data) <= MESSAGE_BYTES_MAX else None
    except (ValueError, RecursionError):
        return None


_LOG = logging.getLogger("minamo.redis")

# Operations that change the state of the process that receives them.
_ACTS = ("request", "clear")
# Size of the cache of executed queries and their replies.  A query arrives twice, within a second,
# if Redis' response to its PUBLISH was lost; fewer requests than this arrive in a second.
_DONE_MAX = 1024
# More processes than any bot has; further replies are ignored.
_ANSWERS_MAX = 1024


@define(eq=False)
class PendingQuery:
    """A query in flight, and the replies received so far."""

    received_by: int | None = None
    """Number of processes that received it; None until Redis has reported it."""
    answered: set[str] = field(factory=set)
    streams: list[str] = field(factory=list)
    _changed: anyio.Event = field(factory=anyio.Event, repr=False)

    def take(self, answer: QueryReply) -> None:
        """Record a reply; a second one from the same process is ignored."""
        if answer.sender not in self.answered and len(self.answered) < _ANSWERS_MAX:
            self.answered.add(answer.sender)
            self.streams.extend(answer.streams)
            self._changed.set()

    @property
    def by_all(self) -> bool:
        """Whether every process that received the query has replied."""
        return self.received_by is not None and len(self.answered) >= self.received_by

    async def until(self, enough: int | None) -> None:
        """Wait until *enough* streams are named, or every process has replied."""
        while not self.by_all:
            if enough is not None and len(self.streams) >= enough:
                return
            await self._changed.wait()
            self._changed = anyio.Event()


def deliver(registry: Stops, stream_ids: Sequence[str], request: StopRequest) -> list[str]:
    """Pass *request* to streams of this process; return the ids of those that it reached."""
    reached = []
    for stream_id, signal in registry.signals(stream_ids):
        signal.request(request)
        reached.append(stream_id)
    return reached


def ask(registry: Stops, stream_ids: Sequence[str], query: Query) -> list[str]:
    """Apply *query* to streams of this process; return the ids of those for which it holds."""
    return [stream_id for stream_id, signal in registry.signals(stream_ids) if holds(query, signal)]


class RedisBroadcast:
    """The endpoint of one process: sends queries to all processes, and replies to theirs."""

    def __init__(
        self, url: str, prefix: str, registry: Stops, connected: Callable[[], object]
    ) -> None:
        self.me: str = secrets.token_hex(8)
        self.rubbish: int = 0
        self._prefix = prefix
        self._registry = registry
        self._everyone = f"{prefix}:ask"
        self._mailbox = f"{prefix}:answer:{self.me}"
        channels = (self._everyone, self._mailbox)
        self.link: RedisLink = RedisLink(url, channels, self._receive, connected=connected)
        self._asked: dict[str, PendingQuery] = {}
        self._done: OrderedDict[tuple[str, str], list[str]] = OrderedDict()

    async def ask(
        self,
        op: Op | Literal["find"],
        address: StopAddress,
        streams: Sequence[str] = (),
        *,
        request: StopRequest | None = None,
        until: float,
    ) -> PendingQuery | None:
        """Query every process; return the replies received by *until*, or None if not sent."""
        question = Question(
            v=VERSION,
            id=secrets.token_hex(8),
            sender=self.me,
            op=op,
            channel=address.channel_id if op == "find" else None,
            streams=tuple(streams),
            asker=address.asker,
            kind=request.kind if request else None,
            requester=request.requester if request else None,
            context=dict(request.context) if request else {},
        )
        asked = self._asked[question.id] = PendingQuery()
        try:
            with anyio.CancelScope(deadline=until):
                await self.link.up()
                asked.received_by = await self.link.publish(self._everyone, encoded(question))
                await asked.until(len(streams) or None)
        except Exception as error:  # noqa: BLE001  (the link logs an outage once)
            _LOG.debug("a question could not be asked: %s", type(error).__name__)
            return None
        finally:
            del self._asked[question.id]
        return asked if asked.received_by is not None else None

    async def _receive(self, channel: str, data: bytes) -> None:
        if channel == self._mailbox:
            self._receive_answer(answer_of(data))
        elif (question := question_of(data)) is None:
            self.rubbish += 1
        elif question.sender == self.me:
            # The local streams were handled before the query was sent.
            self._receive_answer(QueryReply(v=VERSION, id=question.id, sender=self.me, streams=()))
        else:
            streams = tuple(self._streams_for(question))
            answer = QueryReply(v=VERSION, id=question.id, sender=self.me, streams=streams)
            mailbox = f"{self._prefix}:answer:{question.sender}"
            await self.link.publish(mailbox, encoded(answer))

    def _receive_answer(self, answer: QueryReply | None) -> None:
        if answer is None:
            self.rubbish += 1
        elif (asked := self._asked.get(answer.id)) is not None:  # else it is too late
            asked.take(answer)

    def _streams_for(self, question: Question) -> list[str]:
        if question.op == "find":
            return self._registry.find(StopAddress(None, question.channel, question.asker))
        key = (question.sender, question.id)
        if key in self._done:
            return self._done[key]  # a repeated query: same reply, no second effect
        meant = [
            found
            for stream_id in question.streams
            for found in self._registry.find(StopAddress(stream_id, None, question.asker))
        ]
        try:
            if question.op == "request":
                done = deliver(self._registry, meant, question.request)
            else:
                done = ask(self._registry, meant, question.op)
        # A listener raised; the link must go on receiving queries.
        except Exception:  # noqa: BLE001
            _LOG.exception("a stop request was delivered and failed")
            done = []
        if question.op in _ACTS:
            self._done[key] = done
            if len(self._done) > _DONE_MAX:
                self._done.popitem(last=False)
        return done
