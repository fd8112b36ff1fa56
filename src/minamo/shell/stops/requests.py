"""What people want of one turn: to stop, to make way for a newer message, or to die.

A wish acts the moment it is put, whoever listens then.  One that comes while nobody listens is
kept and heard by the next listener.  A listener may also only note a wish, as a turn does with a
stop while its tools finish; until it acts, the wish can be taken back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import anyio
from attrs import define, field, frozen

StopKind = Literal["user", "follow_up", "kill"]

# A follow-up never overrides a person's stop, and nothing overrides an operator.
_RANK: Mapping[StopKind, int] = {"follow_up": 1, "user": 2, "kill": 3}

#: In the context of a wish: the press of a button or the use of a command it came from.  While an
#: old version of a bot and a new one overlap, both hear of it, and it is one wish all the same.
INTERACTION = "interaction"

Listener = Callable[["StopRequest"], object]
"""Called with a wish.  Exactly False says that it is only noted, and may still be taken back."""


@frozen(slots=True, kw_only=True)
class StopRequest:
    """One wish; without a requester it is the system's own."""

    kind: StopKind = "user"
    requester: str | None = None
    context: Mapping[str, object] = field(factory=dict, repr=False)
    """Whatever the asker wants to pass on; a program's, never shown."""
    by: float = field(default=math.inf, eq=False, repr=False)
    """When whoever wants it waits no longer, on the clock of the event loop."""

    def outranks(self, other: StopRequest | None) -> bool:
        """Whether this one counts where both were put."""
        return other is None or _RANK[self.kind] > _RANK[other.kind]


@define(eq=False)
class StopSignal:
    """The wishes for one turn.  Only the strongest is remembered, so nothing grows."""

    strongest: StopRequest | None = field(default=None, init=False)
    _heard: StopRequest | None = field(default=None, init=False, repr=False)
    """The strongest that was acted on; that one cannot be forgotten."""
    _pressed: object = field(default=None, init=False, repr=False)
    _ears: list[Listener] = field(factory=list, init=False, repr=False)
    _told_back: list[Callable[[], object]] = field(factory=list, init=False, repr=False)
    _came: anyio.Event | None = field(default=None, init=False, repr=False)

    def put(self, wish: StopRequest) -> None:
        """Let everybody who listens hear *wish*, now."""
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
        """Have *ear* called with each wish, and at once with the strongest that came before.

        *taken_back* is called when a wish is forgotten that was noted and not acted on.
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
        """Wait for a wish, unless one came before; the strongest."""
        while self.strongest is None:
            if self._came is None:
                self._came = anyio.Event()
            await self._came.wait()
        self._heard = self.strongest
        return self.strongest

    def take_up(self) -> None:
        """Act on what was only noted: from now on it cannot be taken back."""
        self._heard = self.strongest

    def forget(self) -> bool:
        """Take back a wish that nobody has acted on yet; whether there was one."""
        if self.strongest is self._heard:
            return False
        self.strongest, self._pressed = self._heard, None
        if self.strongest is None:
            # The event was set for the request just taken back; waiters need a new one.
            self._came = None
        for taken_back in tuple(self._told_back):
            taken_back()
        return True
