"""What people want of one turn: to stop, to make way for a newer message, or to die.

A wish acts the moment it is put, whoever listens then.  One that comes while nobody listens, such
as between two streams of a turn, is kept and heard by the next listener.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import anyio
from attrs import define, field, frozen

WishKind = Literal["user", "follow_up", "kill"]

# A follow-up never overrides a person's stop, and nothing overrides an operator.
_RANK: Mapping[WishKind, int] = {"follow_up": 1, "user": 2, "kill": 3}

#: In the context of a wish: the press of a button or the use of a command it came from.  While an
#: old version of a bot and a new one overlap, both hear of it, and it is one wish all the same.
INTERACTION = "interaction"

Ear = Callable[["Wish"], object]


@frozen(slots=True, kw_only=True)
class Wish:
    """One wish; without a requester it is the system's own."""

    kind: WishKind = "user"
    requester: str | None = None
    context: Mapping[str, object] = field(factory=dict, repr=False)
    """Whatever the asker wants to pass on; a program's, never shown."""
    by: float = field(default=math.inf, eq=False, repr=False)
    """When whoever wants it waits no longer, on the clock of the event loop."""

    def outranks(self, other: Wish | None) -> bool:
        """Whether this one counts where both were put."""
        return other is None or _RANK[self.kind] > _RANK[other.kind]


@define(eq=False)
class Wishes:
    """The wishes for one turn.  Only the strongest is remembered, so nothing grows."""

    strongest: Wish | None = field(default=None, init=False)
    _heard: Wish | None = field(default=None, init=False, repr=False)
    """The strongest that somebody has heard; that one cannot be forgotten."""
    _pressed: object = field(default=None, init=False, repr=False)
    _ears: list[Ear] = field(factory=list, init=False, repr=False)
    _came: anyio.Event | None = field(default=None, init=False, repr=False)

    def put(self, wish: Wish) -> None:
        """Let everybody who listens hear *wish*, now."""
        pressed = wish.context.get(INTERACTION)
        if pressed is not None and pressed == self._pressed:
            return
        self._pressed = pressed
        if wish.outranks(self.strongest):
            self.strongest = wish
        if self._ears:
            self._heard = self.strongest
        for ear in tuple(self._ears):
            ear(wish)
        if self._came is not None:
            self._came.set()

    @contextmanager
    def heard_by(self, ear: Ear) -> Iterator[None]:
        """Have *ear* called with each wish, and at once with the strongest that came before."""
        self._ears.append(ear)
        try:
            self._heard = self.strongest
            if self.strongest is not None:
                ear(self.strongest)
            yield
        finally:
            self._ears.remove(ear)

    async def came(self) -> Wish:
        """Wait for a wish, unless one came before; the strongest."""
        while self.strongest is None:
            if self._came is None:
                self._came = anyio.Event()
            await self._came.wait()
        self._heard = self.strongest
        return self.strongest

    def forget(self) -> bool:
        """Take back a wish that nobody has heard yet; whether there was one."""
        if self.strongest is self._heard:
            return False
        self.strongest, self._pressed = self._heard, None
        if self.strongest is None:
            self._came = None  # it rang for the forgotten one; who waits goes on to wait
        return True
