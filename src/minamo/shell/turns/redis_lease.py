"""Leases through Redis: a key per channel that expires unless its holder renews it.

While Redis is unreachable the holders are unknown.  `when_unreachable="refuse"`, the default,
prefers no reply to two: no stream is started, and a running one ends just before its lease would
expire, because another process might start then.  `"grant"` prefers two replies to none: streams
start and continue, and a channel may get two replies until Redis is back.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import anyio
from attrs import define, field

from minamo.errors import BadRequest, BadSetting
from minamo.shell.stops.redis_link import (
    COMMAND_S,
    asked,
    checked_prefix,
    client_for,
    close_client,
    shown,
)
from minamo.shell.stops.registry import StopRequest, StopSignal, checked_channel_id
from minamo.shell.turns.channels import LeaseStatus

_LOG = logging.getLogger("minamo.redis")
T = TypeVar("T")

# How long a channel stays blocked after its process died, and how long Redis may be unreachable
# unnoticed.
TTL_MS = 15_000
# Shares of the lease time: the renewal interval, and the time left when the lease is given up,
# which is reserved for the last call to Discord.
_RENEW_SHARE = 1 / 3
_MARGIN_SHARE = 1 / 5
# Waiting polls Redis; a user does not notice a tenth of a second before a reply.
_ASK_EVERY_S = 0.1
WAIT_MAX_S = 600.0

# Takes a lease that is free or already ours.  It is ours if an earlier answer was lost or this is a
# renewal; it is free also if Redis restarted empty and no other process was quicker.
_TAKE = """
local holder = redis.call('get', KEYS[1])
if holder == false or holder == ARGV[1] then
    redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
end
return 0
"""
_RELEASE = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
)

# Redis restarts within seconds; after a longer absence the user is told instead of left waiting.
AWAY_S = 5.0


@define(eq=False)
class _Held:
    """One attempt to hold a channel, with a token of its own."""

    key: str
    token: str
    until: float = 0.0
    """Expiry time unless renewed, on our clock, counted from before the request was sent."""
    over: anyio.Event = field(factory=anyio.Event)
    """Set when the `hold` block is left."""
    taking: asyncio.Task[Any] | None = None
    """The task of the last attempt to take the lease."""


class RedisLease:
    """Leases shared by all processes that use the same Redis and prefix."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "minamo",
        ttl_ms: int = TTL_MS,
        when_unreachable: Literal["refuse", "grant"] = "refuse",
    ) -> None:
        if not 1_000 <= ttl_ms <= 300_000:
            raise BadSetting("ttl_ms must be 1000 to 300000")
        if when_unreachable not in ("refuse", "grant"):
            raise BadSetting("when_unreachable must be 'refuse' or 'grant'")
        self.healthy: bool = True
        """Whether Redis answered the last command."""
        self._place = shown(url)
        self._prefix = checked_prefix(prefix)
        self._ttl_ms = ttl_ms
        self._ttl_s = ttl_ms / 1000
        self._refuse = when_unreachable == "refuse"
        self._client = client_for(url)
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        state = "healthy" if self.healthy else "unreachable"
        return f"<RedisLease at {self._place}, prefix {self._prefix!r}, {state}>"

    async def __aenter__(self) -> RedisLease:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection permanently.  Leases still held expire."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
        await close_client(self._client)

    @asynccontextmanager
    async def hold(
        self, channel_id: int, stop_signal: StopSignal, *, wait_s: float = 0.0
    ) -> AsyncIterator[LeaseStatus]:
        """Hold a channel while the block runs, if the status is true.

        Waits up to *wait_s* for another holder to finish; waiters are served in no particular
        order.  If the lease is lost, *stop_signal* gets a kill by "lease": nothing more
        is sent.
        """
        if not 0 <= wait_s <= WAIT_MAX_S:
            raise BadRequest(f"wait_s must be 0 to {WAIT_MAX_S:g}")
        key = f"{self._prefix}:lease:{checked_channel_id(channel_id)}"
        held = _Held(key, secrets.token_hex(16))
        renewing: asyncio.Task[None] | None = None
        try:
            leased = await self._acquire(held, wait_s)
            if leased:
                # A plain asyncio task: a task group would wrap the exceptions of the block.
                renewing = asyncio.get_running_loop().create_task(self._renew(held, stop_signal))
            yield leased
        finally:
            held.over.set()
            # Also if it was not granted: after a lost answer or a cancelled wait Redis may hold it.
            with anyio.CancelScope(shield=True):
                await self._apart(self._give_back(held, renewing))

    async def _apart(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* in a task that no cancellation of the caller reaches, asyncio's or anyio's."""
        task = asyncio.get_running_loop().create_task(work)
        # asyncio holds only weak references to tasks.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _give_back(self, held: _Held, renewing: asyncio.Task[None] | None) -> None:
        # A pending renewal or attempt must not run after the release.
        under_way = [task for task in (renewing, held.taking) if task is not None]
        if under_way:
            await asyncio.wait(under_way)
        await self._release(held)

    async def _acquire(self, held: _Held, wait_s: float) -> LeaseStatus:
        last = anyio.current_time() + wait_s
        away_since: float | None = None
        while True:
            # redis-py can swallow a cancellation; in a separate task it receives none.
            leased = await self._apart(self._take(held))
            if leased is LeaseStatus.UNREACHABLE and not self._refuse:
                return LeaseStatus.GRANTED
            now = anyio.current_time()
            is_away = leased is LeaseStatus.UNREACHABLE
            away_since = (now if away_since is None else away_since) if is_away else None
            until = last if away_since is None else min(last, away_since + AWAY_S)
            if leased or now + _ASK_EVERY_S > until:
                return leased
            await anyio.sleep(_ASK_EVERY_S)

    async def _renew(self, held: _Held, stop_signal: StopSignal) -> None:
        leased = LeaseStatus.GRANTED
        while leased is not LeaseStatus.BUSY:
            with anyio.move_on_after(self._ttl_s * _RENEW_SHARE if leased else _ASK_EVERY_S):
                await held.over.wait()
                return
            leased = await self._take(held)
            spare_s = held.until - anyio.current_time() - self._ttl_s * _MARGIN_SHARE
            if leased is LeaseStatus.UNREACHABLE and self._refuse and spare_s <= 0:
                break
        _LOG.warning("%s: a lease was lost (%s), its stream ends", self._place, leased.value)
        stop_signal.request(
            StopRequest(kind="kill", requester="lease", context={"lease": leased.value})
        )

    async def _take(self, held: _Held) -> LeaseStatus:
        held.taking = asyncio.current_task()
        asked_at = anyio.current_time()
        if self._closed:  # the client would reconnect
            return LeaseStatus.UNREACHABLE
        try:
            # Short enough to detect a missing answer in time; shielded, so that a caller that is
            # cancelled meanwhile still knows whether it has a lease to release.
            with anyio.fail_after(min(COMMAND_S, self._ttl_s * _MARGIN_SHARE), shield=True):
                taken = await self._run(_TAKE, held.key, held.token, self._ttl_ms)
        except Exception as error:  # noqa: BLE001  (on any error the holder is unknown)
            self._note(error)
            return LeaseStatus.UNREACHABLE
        self._note(None)
        if not taken:
            return LeaseStatus.BUSY
        held.until = asked_at + self._ttl_s
        return LeaseStatus.GRANTED

    async def _release(self, held: _Held) -> None:
        if self._closed:
            return
        with anyio.move_on_after(COMMAND_S, shield=True):
            try:
                await self._run(_RELEASE, held.key, held.token)
            except Exception as error:  # noqa: BLE001  (the key expires)
                self._note(error)

    async def _run(self, script: str, key: str, *arguments: str | int) -> object:
        # Both scripts are idempotent, so they may be retried.
        return await asked(self._client, lambda: self._client.eval(script, 1, key, *arguments))

    def _note(self, error: Exception | None) -> None:
        if error is not None and self.healthy:
            meaning = "no stream begins" if self._refuse else "streams begin without a lease"
            kind = type(error).__name__
            _LOG.warning(
                "%s cannot be reached (%s): until it is back, %s", self._place, kind, meaning
            )
        elif error is None and not self.healthy:
            _LOG.info("%s is back", self._place)
        self.healthy = error is None
