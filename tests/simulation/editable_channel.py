"""A channel whose messages change, with faults at any call, and replies that grow in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import anyio
from attrs import define, field

from minamo.core.config import StreamConfig
from minamo.core.messages import Kind, OutgoingMessage
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import (
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.options import StreamContext
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.shell.stops.registry import StopRequest, StopSignal
from support.driver import Provider, plain, traced
from support.fake_discord import run_with_virtual_clock

Fault = Literal[
    "", "answer lost", "call lost", "unknown", "put off", "refused", "deleted", "stalled"
]
FAULTS: list[Fault] = ["", "answer lost", "call lost", "unknown", "put off", "refused", "deleted",
                       "stalled"]  # fmt: skip
_HALF_S = 0.05
_STALL_S = 9.0


@define(eq=False)
class Board:
    """Every call takes a tenth of a second; in the middle of it something else may happen."""

    fault: Callable[[int], Fault] = lambda _: ""
    """What goes wrong with the call of that number, from 1."""
    midway: Callable[[int], object] = lambda _: None
    place: int = 7
    has_nonce: bool = True
    stands: dict[int, str] = field(factory=dict)
    """What the channel shows."""
    known: dict[int, str] = field(factory=dict)
    """What it showed when it last said so in time; what somebody else deleted, was shown."""
    begun: list[tuple[float, Kind]] = field(factory=list)
    over: bool = False
    """The reply has its result."""
    _nonces: dict[str, int] = field(factory=dict)

    def route(self, kind: Kind) -> str:
        return kind

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        number = self._nonces.setdefault(str(post.nonce), len(self._nonces) + 1)
        return await self._call("create", number, post.text)

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        return await self._call("edit", message_id, post.text)

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        return await self._call("delete", message_id, "")

    async def typing(self, channel_id: int) -> SendOutcome:
        return Accepted(None)

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        raise NotImplementedError

    async def _call(self, kind: Kind, number: int, text: str) -> SendOutcome:
        self.begun.append((anyio.current_time(), kind))
        call = len(self.begun)
        fault = self.fault(call)
        await anyio.sleep(_HALF_S)
        self.midway(call)
        await anyio.sleep(_STALL_S if fault == "stalled" else _HALF_S)
        if fault == "put off":
            return RetryLater("rate_limited", 1.5)
        if fault == "refused":
            return Rejected("automod")
        if fault == "deleted":
            self.stands.pop(number, None)
            if kind == "create":
                self.known[number] = text
            return Deleted() if kind == "create" else Rejected("unknown_message")
        if fault == "unknown":
            return Unknown("reset", final=True)
        if fault == "call lost":
            return Unknown("reset")
        if kind == "delete":
            self.stands.pop(number, None)
        else:
            self.stands[number] = text
        if fault == "answer lost":
            return Unknown("reset")
        if not self.over:
            self.known.pop(number, None) if kind == "delete" else self.known.update({number: text})
        return Accepted(None if kind == "delete" else number)


@define(eq=False)
class Grown:
    """What is left of a reply that grew."""

    board: Board
    provider: Provider
    result: StreamResult
    wished_at: float | None = None


def grow(
    provider: Provider,
    board: Board | None = None,
    config: StreamConfig | None = None,
    *,
    wish: StopRequest | None = None,
    during: int = 0,
    after_s: float | None = None,
    **context: Any,
) -> Grown:
    """Run one reply that grows; *wish* comes while a call is out, or at a time."""
    board, stop_signal, grown = board or Board(), StopSignal(), []
    wished: list[float] = []

    def want() -> None:
        assert wish is not None
        wished.append(anyio.current_time())
        stop_signal.request(wish)

    if during:
        board.midway = lambda call: want() if call == during else None

    async def later() -> None:
        await anyio.sleep(after_s or 0.0)
        want()

    async def story() -> None:
        async with open_lanes() as lanes, anyio.create_task_group() as tasks:
            orchestrator = StreamOrchestrator(lanes)
            if after_s is not None:
                tasks.start_soon(later)
            where = StreamContext(
                orchestrator=orchestrator,
                channel_id=board.place,
                sender=board,
                edit=True,
                typing=False,
                stop_signal=stop_signal,
                suppress_user_errors=True,
                **context,
            )
            grown.append(await orchestrator.stream_to_discord(provider, config or plain(), where))
            board.over = True
            tasks.cancel_scope.cancel()

    run_with_virtual_clock(story)
    return Grown(board, provider, grown[0], wished[0] if wished else None)


def check_grown(run: Grown) -> None:
    """Each character that was read is in one place, and what is said is what is known to stand."""
    result, said = run.result, "".join(run.provider.said)
    messages = [run.board.known[number] for number in sorted(run.board.known)]
    asides = "".join(result.thought_log)
    kept = traced("".join(messages)) + traced(asides)
    assert sorted(set(kept)) == sorted(kept), "something is in two places"
    assert list(traced("".join(messages))) == sorted(traced("".join(messages))), "out of order"
    told = "".join(result.accumulated_text.split())
    assert told == "".join("".join(messages).split()), "the books tell something else"
    hidden, added = sum(result.suppressed.values()), sum(result.additions.values())
    shown = sum(map(len, messages))
    assert shown - added + len(asides) + hidden == len(said), (
        "lost or doubled",
        dict(result.suppressed),
        dict(result.additions),
    )
    if result.status == "empty_response":
        assert not messages, "a page is left of a reply that says nothing"
    if result.status == "completed":
        assert messages, "a reply that says nothing is completed"
    if result.stop_reason in ("killed", "follow_up") and run.wished_at is not None:
        late = [call for call in run.board.begun if call[0] > run.wished_at and call[1] != "delete"]
        assert not late, f"begun after the wish at {run.wished_at}: {late}"
