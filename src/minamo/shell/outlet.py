"""The two ends of a stream, between which the driver stands, and whoever looks on."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Protocol, TypeAlias

from minamo.core.chunks import Chunk
from minamo.shell.sending.receipts import Receipt

Source: TypeAlias = AsyncIterable[str | Chunk]
"""It may also have ``silence``, a `Silence`: the marker of a reply that is not to be shown."""
Watch: TypeAlias = Callable[[float, str, object], object]
"""Told of everything that happens: when, what, and with what."""


class Outlet(Protocol):
    """Where text goes; a lane's `Dispatch` is one."""

    @property
    def held(self) -> int:
        """How many characters are here and not answered for."""

    async def room(self) -> None:
        """Wait until more may come."""

    def deliver(self) -> None:
        """One more segment waits in the outbox."""

    def withdraw(self, reason: str) -> None:
        """Take back everything whose call has not begun."""

    def hurry(self) -> None:
        """Stop pretending to type."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Nothing more will come; wait until everything is answered for."""

    def give_up(self, reason: str) -> None:
        """Write the receipts of what is not answered for."""
