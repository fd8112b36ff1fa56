"""The typing indicator, and pretending to type.

hikari has a context manager for the indicator, which loses errors and breaks a bucket on its way
out; this makes single calls.  An indicator that is called for just before a message and arrives
just after it would be seen for ten seconds, so no message goes out while such a call is out.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from minamo.core.config import HumanizerDegree
from minamo.shell.delivery.interfaces import Rejected, Sender
from minamo.shell.delivery.pacing import Pacer

# Discord shows it for 10 s.
RENEW_S = 8.0
# A call that takes longer is stuck, and nobody wants to wait for a message because of it.
CALL_WAIT_S = 1.0
# A fast typist, seen through a patient eye.
PER_CHARACTER_S = 0.010
PAUSE_MIN_S = 0.750
PAUSE_MAX_S = 4.0


def pause_for(degree: HumanizerDegree) -> Callable[[int], float] | None:
    """How long to pretend to type so many characters; None if not at all."""
    if degree == HumanizerDegree.NONE:
        return None
    return pause_s


def pause_s(characters: int) -> float:
    """As long as somebody who types fast would take, within reason."""
    return min(max(characters * PER_CHARACTER_S, PAUSE_MIN_S), PAUSE_MAX_S)


class Typing:
    """The indicator of one stream: shown from the start until it is hidden, for good."""

    def __init__(self, sender: Sender, pacer: Pacer, channel_id: int) -> None:
        self._sender = sender
        self._pacer = pacer
        self._channel_id = channel_id
        self._over = False
        self._held = False  # a message is going out
        self._calling = False
        self._renew = False  # a message has ended what was shown
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope(shield=True)
        self.errors = 0
        """Calls that did not work; a missing indicator is nothing to stop for."""

    def __repr__(self) -> str:
        return f"<Typing in {self._channel_id}, {'over' if self._over else 'shown'}>"

    async def run(self) -> None:
        """Show it again and again until `hide`."""
        # A task of its own, and shielded: the call in it must end by itself (see lane.py).
        with self._scope:
            while not self._over:
                if self._held:
                    await self._changed.wait()
                    continue
                self._renew = False
                await self._show()
                await self._rest()

    def hide(self) -> None:
        """Not again; a call that is out ends by itself, and one that waits is not made."""
        self._over = True
        self._change()
        if not self._calling:
            self._scope.cancel()

    def end(self) -> None:
        """Stop at once; only for closing."""
        self.hide()
        self._scope.cancel()

    async def before_message(self, *, last: bool) -> None:
        """Hold back, and wait a while for a call that is out; for good before the last message."""
        self._held = True
        if last:
            self.hide()
        with anyio.move_on_after(CALL_WAIT_S):
            while self._calling:
                await self._changed.wait()

    def after_message(self) -> None:
        """Go on: the message has ended what was shown."""
        self._held = False
        self._renew = True
        self._change()

    async def _show(self) -> None:
        async with self._pacer.turn("typing", self._channel_id) as turn:
            if self._over or self._held:
                return
            self._calling = True
            try:
                answer = await self._sender.typing(self._channel_id)
            finally:
                self._calling = False
                self._change()
            turn.hear(answer)
            if isinstance(answer, Rejected):
                # No permission, no channel: it would be refused every eight seconds, and each
                # refusal counts towards being shut out.
                self.errors += 1
                self._over = True

    async def _rest(self) -> None:
        """Until it has to be renewed: in time, or after a message."""
        with anyio.move_on_after(RENEW_S):
            while not self._over and not self._renew:
                await self._changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
