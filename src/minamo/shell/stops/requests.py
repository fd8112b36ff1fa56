"""Stop requests for one turn: a user's stop, a newer message, or an operator's kill.

A request reaches the current listeners the moment it is put.  Without a listener it is kept and
passed to the next one.  A listener may also only note a request, as a turn does with a stop while
its tools finish; until a listener acts on it, the request can be withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import anyio
from attrs import define, field, frozen

StopKind = Literal["user", "follow_up", "kill"]

# A follow-up never overrides a user's stop, and nothing overrides an operator's kill.
_RANK: Mapping[StopKind, int] = {"follow_up": 1, "user": 2, "kill": 3}

#: Context key: the id of the interaction (button or command) that caused the request.  While an
#: old and a new version of a bot overlap, both receive it, and it must count as one request.
INTERACTION = "interaction"

Listener = Callable[["StopRequest"], object]
"""Called with a request.  Exactly False means it is only noted and may still be withdrawn."""


@frozen(slots=True, kw_only=True)
class StopRequest:
    """One stop request; without a requester it is the system's own."""

    kind: StopKind = "user"
    requester: str | None = None
    context: Mapping[str, object] = field(factory=dict, repr=False)
    """Data from the calling program; never shown to users."""
    by: float = field(default=math.inf, eq=False, repr=False)
    """Deadline of the requester, on the clock of the event loop."""

    def outranks(self, other: StopRequest | None) -> bool:
        """Return whether this request takes precedence over *other*."""
        return other is None or _RANK[self.kind] > _RANK[other.kind]


@define(eq=False)
class StopSignal:
    """The stop requests for one turn.  Only the strongest is kept, so memory is bounded."""

    strongest: StopRequest | None = field(default=None, init=False)
    _heard: StopRequest | None = field(default=None, init=False, repr=False)
    """The strongest request that was acted on; it cannot be withdrawn."""
    _pressed: object = field(default=None, init=False, repr=False)
    _ears: list[Listener] = field(factory=list, init=False, repr=False)
    _told_back: list[Callable[[], object]] = field(factory=list, init=False, repr=False)
    _came: anyio.Event | None = field(default=None, init=False, repr=False)

    def put(self, wish: StopRequest) -> None:
        """Pass *wish* to every listener, synchronously."""
        pressed = wish.context.get(INTERACTION)
        if pressed is not None and pressed == self._pressed:
            return
        self._pressed = pressed
        if wish.outranks(self.strongest):
            self.strongest = wish
        acted = [ear(wish) is not False for ear in tuple(self._ears)]
        if any(acted):
            self._heard = self.strongest
        if self._came is not None:
            self._came.set()

    @contextmanager
    def heard_by(
        self, ear: Listener, taken_back: Callable[[], object] | None = None
    ) -> Iterator[None]:
        """Call *ear* with each request, and at once with the strongest earlier one.

        *taken_back* is called when a request that was noted but not acted on is withdrawn.
        """
        self._ears.append(ear)
        if taken_back is not None:
            self._told_back.append(taken_back)
        try:
            if self.strongest is not None and ear(self.strongest) is not False:
                self._heard = self.strongest
            yield
        finally:
            self._ears.remove(ear)
            if taken_back is not None:
                self._told_back.remove(taken_back)

    async def came(self) -> StopRequest:
        """Return the strongest request; wait for one if there is none yet."""
        while self.strongest is None:
            if self._came is None:
                self._came = anyio.Event()
            await self._came.wait()
        self._heard = self.strongest
        return self.strongest

    def take_up(self) -> None:
        """Mark the noted request as acted on: from now on it cannot be withdrawn."""
        self._heard = self.strongest

    def forget(self) -> bool:
        """Withdraw a request that no listener has acted on yet; return whether there was one."""
        if self.strongest is self._heard:
            return False
        self.strongest, self._pressed = self._heard, None
        if self.strongest is None:
            # The event was set for the request just withdrawn; waiters need a new one.
            self._came = None
        for taken_back in tuple(self._told_back):
            taken_back()
        return True
