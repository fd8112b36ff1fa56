"""The gateway: compression, websocket connections, and sessions that outlive them.

A dispatch goes to every session whose intents include it; a session without a connection keeps
it for the resume. Each connection has a queue and one writer, so that a dispatch never waits
and never overtakes another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import zlib
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from attrs import define, field

from minamo.twin.faults import Faults
from minamo.twin.journal import Journal, redacted
from minamo.twin.rules import Rules
from minamo.twin.server.buckets import Bucket
from minamo.twin.server.intents import KNOWN, PRIVILEGED, for_intents, member_chunks, wants
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import World

Squeeze = Callable[[bytes], bytes]


def squeezer(name: str | None) -> Squeeze | None:
    """Return the compressor that a client requested in its URL; None means text frames.

    An unknown compression, or one that this Python has no module for, is ignored: every
    client reads text frames as well.
    """
    if name == "zlib-stream":
        return _zlib()
    if name == "zstd-stream":
        return next((made for module in _ZSTD if (made := _zstd(module))), None)
    return None


def _zlib() -> Squeeze:
    stream = zlib.compressobj()
    return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


# In the standard library since 3.14; before that, one of two packages.
_ZSTD = ("compression.zstd", "backports.zstd", "zstandard")


def _zstd(name: str) -> Squeeze | None:
    try:
        module: Any = import_module(name)
    except ModuleNotFoundError:
        return None
    if name == "zstandard":
        older = module.ZstdCompressor().compressobj()
        block = module.COMPRESSOBJ_FLUSH_BLOCK
        return lambda data: bytes(older.compress(data) + older.flush(block))
    stream, flush = module.ZstdCompressor(), module.ZstdCompressor.FLUSH_BLOCK
    return lambda data: bytes(stream.compress(data, flush))


_DISPATCH, _HEARTBEAT, _IDENTIFY, _PRESENCE, _VOICE, _RESUME = 0, 1, 2, 3, 4, 6
_RECONNECT, _MEMBERS, _INVALID, _HELLO, _ACK = 7, 8, 9, 10, 11
_VERSION = "10"
# Added to one and a half heartbeat intervals before the connection is closed: the delay that
# a busy computer may cause.
_PATIENCE_S = 0.5
_PAYLOAD_BYTES_MAX = 4_096
# The exceptions that reading a malformed payload raises.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_NAMES = {1: "HEARTBEAT", 2: "IDENTIFY", 3: "PRESENCE", 4: "VOICE_STATE", 6: "RESUME", 8: "MEMBERS"}


@define(eq=False)
class Connection:
    """One websocket connection with its send queue."""

    socket: web.WebSocketResponse
    squeeze: Squeeze | None
    payloads: Bucket
    #: Closes the connection unless a heartbeat arrives first.
    deadline: asyncio.TimerHandle | None = field(default=None, repr=False)
    queue: asyncio.Queue[dict[str, Any] | int] = field(factory=asyncio.Queue, repr=False)

    async def write(self) -> None:
        """Send the queued payloads until a number comes: the close code."""
        while True:
            payload = await self.queue.get()
            if isinstance(payload, int):
                await self.socket.close(code=payload)
                return
            text = json.dumps(payload, separators=(",", ":"))
            # If the socket closed meanwhile, the reader notices it.
            with contextlib.suppress(ConnectionError, RuntimeError):
                if self.squeeze is None:
                    await self.socket.send_str(text)
                else:
                    await self.socket.send_bytes(self.squeeze(text.encode()))


@define(eq=False)
class Session:
    """A session, which an IDENTIFY begins and a RESUME may continue."""

    id: str
    intents: int
    shard: tuple[int, int]
    kept: deque[dict[str, Any]] = field(repr=False)  # interactions carry tokens
    seq: int = 0
    connection: Connection | None = None

    def dispatch(self, name: str, data: dict[str, Any]) -> None:
        """Number an event, keep it for a resume, and send it if there is a connection."""
        self.seq += 1
        payload = {"op": _DISPATCH, "t": name, "s": self.seq, "d": data}
        self.kept.append(payload)
        if self.connection is not None:
            self.connection.queue.put_nowait(payload)


@define(eq=False)
class Gateway:
    """All sessions of one bot."""

    world: World
    rules: Rules
    faults: Faults
    journal: Journal
    token: str = field(repr=False)
    url: str = ""
    sessions: dict[str, Session] = field(factory=dict)
    _identified_at: float = float("-inf")
    connections: set[Connection] = field(factory=set)
    watchers: list[Callable[[str, Any], object]] = field(factory=list, repr=False)

    def dispatch(self, name: str, data: dict[str, Any], *, guild_id: int | None = None) -> None:
        """Send an event to the watchers and to every session that its shard and intents select."""
        self.journal.event(name, data)
        if self.watchers:
            seen_by_all = redacted(data)
            for watcher in tuple(self.watchers):
                watcher(name, seen_by_all)
        for session in self.sessions.values():
            number, count = session.shard
            if ((guild_id or 0) >> 22) % count == number and wants(session.intents, name, guild_id):
                seen = for_intents(self.world, session.intents, name, data, guild_id)
                session.dispatch(name, seen)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one connection from HELLO to its end."""
        squeeze = squeezer(request.query.get("compress"))
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        connection = Connection(socket, squeeze, Bucket(self.rules.gateway_payloads))
        self.connections.add(connection)
        writer = asyncio.create_task(connection.write())
        hello = {"heartbeat_interval": self.rules.heartbeat_interval_ms}
        connection.queue.put_nowait({"op": _HELLO, "d": hello})
        self._await_heartbeat(connection)
        if request.query.get("v", _VERSION) != _VERSION:
            connection.queue.put_nowait(4012)
        try:
            async for frame in socket:
                if frame.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    self._hear(connection, frame.data)
        finally:
            writer.cancel()
            if connection.deadline is not None:
                connection.deadline.cancel()
            self.connections.discard(connection)
            if session := self._session(connection):
                session.connection = None
            self.journal.event("DISCONNECTED")
        return socket

    def _session(self, connection: Connection) -> Session | None:
        return next(
            (session for session in self.sessions.values() if session.connection is connection),
            None,
        )

    def _await_heartbeat(self, connection: Connection) -> None:
        if connection.deadline is not None:
            connection.deadline.cancel()
        wait_s = self.rules.heartbeat_interval_ms * 1.5 / 1_000 + _PATIENCE_S
        loop = asyncio.get_running_loop()
        connection.deadline = loop.call_later(wait_s, self._time_out, connection)

    def _time_out(self, connection: Connection) -> None:
        """End a session without heartbeats."""
        if session := self._session(connection):
            del self.sessions[session.id]
        connection.queue.put_nowait(4009)

    def _hear(self, connection: Connection, data: str | bytes) -> None:
        if connection.payloads.take(self.world.now()):
            connection.queue.put_nowait(4008)
            return
        try:
            payload = _read(data)
            op, body = payload["op"], payload.get("d")
            self.journal.event(_NAMES.get(op, f"OP {op}"), body, sent=False)
            self._obey(connection, op, body)
        except _MALFORMED:  # not a payload, or wrong data for its opcode
            connection.queue.put_nowait(4002)

    def _obey(self, connection: Connection, op: Any, body: Any) -> None:
        session = self._session(connection)
        if op == _HEARTBEAT:
            self._await_heartbeat(connection)
            if not self.faults.gateway_deaf:
                connection.queue.put_nowait({"op": _ACK})
        elif op in (_IDENTIFY, _RESUME) and session is not None:
            connection.queue.put_nowait(4005)
        elif op == _IDENTIFY:
            self._identify(connection, body)
        elif op == _RESUME:
            self._resume(connection, body)
        elif session is None:
            connection.queue.put_nowait(4003)
        elif op == _MEMBERS:
            for chunk in member_chunks(self.world, session.intents, body):
                session.dispatch("GUILD_MEMBERS_CHUNK", chunk)
                self.journal.event("GUILD_MEMBERS_CHUNK", chunk)
        elif op not in (_PRESENCE, _VOICE):
            connection.queue.put_nowait(4001)

    def _identify(self, connection: Connection, body: dict[str, Any]) -> None:
        intents = int(body.get("intents", 0))
        number, count = (int(part) for part in body.get("shard") or (0, 1))
        if body.get("token") != self.token:
            connection.queue.put_nowait(4004)
        elif not 0 <= number < count:
            connection.queue.put_nowait(4010)
        elif intents < 0 or intents & ~KNOWN:
            connection.queue.put_nowait(4013)
        elif intents & PRIVILEGED & ~self.rules.privileged_intents:
            connection.queue.put_nowait(4014)
        elif self._is_too_soon():
            connection.queue.put_nowait({"op": _INVALID, "d": False})
        else:
            self._begin(connection, intents, (number, count))

    def _is_too_soon(self) -> bool:
        """Return whether sessions begin faster than `max_concurrency`, which is 1, permits."""
        last, self._identified_at = self._identified_at, self.world.now()
        return self._identified_at - last < self.rules.identify_every_s

    def _begin(self, connection: Connection, intents: int, shard: tuple[int, int]) -> None:
        number, count = shard
        kept: deque[dict[str, Any]] = deque(maxlen=self.rules.resume_window_events)
        session = Session(secrets.token_hex(16), intents, shard, kept)
        session.connection = connection
        self.sessions[session.id] = session
        granted = self.rules.privileged_intents
        shape = shapes.ready(self.world, session.id, self.url, shard, granted)
        session.dispatch("READY", shape)
        self.journal.event("READY", shape)
        for guild in self.world.guilds.values():
            if (guild.id >> 22) % count == number and wants(intents, "GUILD_CREATE", guild.id):
                whole = shapes.guild_event(self.world, guild)
                seen = for_intents(self.world, intents, "GUILD_CREATE", whole, guild.id)
                session.dispatch("GUILD_CREATE", seen)
                self.journal.event("GUILD_CREATE", {"id": str(guild.id)})

    def _resume(self, connection: Connection, body: dict[str, Any]) -> None:
        session = self.sessions.get(body.get("session_id", ""))
        if body.get("token") != self.token:
            connection.queue.put_nowait(4004)
            return
        seq = int(body.get("seq") or 0)
        first = session.kept[0]["s"] if session and session.kept else 0
        if session is not None and seq > session.seq:
            connection.queue.put_nowait(4007)
            return
        if session is None or seq + 1 < first:
            connection.queue.put_nowait({"op": _INVALID, "d": False})
            return
        session.connection = connection
        for payload in [event for event in session.kept if event["s"] > seq]:
            connection.queue.put_nowait(payload)
        session.dispatch("RESUMED", {})
        self.journal.event("RESUMED")

    def reconnect(self) -> None:
        """Ask every client to reconnect and resume (op 7)."""
        self._tell_all({"op": _RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """Notify every client that its session is invalid (op 9)."""
        if not resumable:
            for session in self.sessions.values():
                session.kept.clear()
        self._tell_all({"op": _INVALID, "d": resumable})
        if not resumable:
            self.sessions.clear()

    def close(self, code: int = WSCloseCode.GOING_AWAY) -> None:
        """Close every connection with *code*; sessions remain for a resume."""
        for connection in self.connections:
            connection.queue.put_nowait(int(code))

    def _tell_all(self, payload: dict[str, Any]) -> None:
        for connection in self.connections:
            connection.queue.put_nowait(payload)
        self.journal.event(f"OP {payload['op']}")


def _read(data: str | bytes) -> Any:
    sent = data.encode() if isinstance(data, str) else data
    if len(sent) > _PAYLOAD_BYTES_MAX:
        raise ValueError("a payload has at most 4096 bytes")
    return json.loads(sent)
