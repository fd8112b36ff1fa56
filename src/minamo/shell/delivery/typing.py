"""The typing indicator, and simulated typing pauses.

hikari has a context manager for the indicator, which loses errors and breaks a bucket on exit;
this file makes single calls.  An indicator requested just before a message and arriving just after
it would be shown for ten seconds, so no message is sent while such a call is in flight.
"""

from __future__ import annotations

import logging
from enum import Enum, auto

import anyio

from minamo.shell.callbacks import log_failure
from minamo.shell.delivery.interfaces import Rejected, Sender
from minamo.shell.delivery.pacing import Pacer

_LOG = logging.getLogger("minamo.discord")

# Discord shows it for 10 s.
RENEW_S = 8.0
# A call that takes longer is stuck, and must not delay the message.
CALL_WAIT_S = 1.0
# Simulated typing speed; with the bounds below: 0.75 s to 4 s per message.
PER_CHARACTER_S = 0.010
PAUSE_MIN_S = 0.750
PAUSE_MAX_S = 4.0


def pause_s(characters: int) -> float:
    """Return the time in seconds a fast typist would take, within the bounds above."""
    return min(max(characters * PER_CHARACTER_S, PAUSE_MIN_S), PAUSE_MAX_S)


class Phase(Enum):
    """What the indicator of a stream does."""

    DUE = auto()
    """It is not shown, and must be: at the start, or after a message has cleared it."""
    SHOWN = auto()
    """It is shown, or is about to be."""
    HELD = auto()
    """A message is being sent; no call may begin."""
    OVER = auto()
    """It is not shown again."""


class Typing:
    """The indicator of one stream: shown from the start until `hide`, which is final."""

    def __init__(self, sender: Sender, pacer: Pacer, channel_id: int) -> None:
        self._sender = sender
        self._pacer = pacer
        self._channel_id = channel_id
        self._phase = Phase.DUE
        self._calling = False  # a call is in flight, in whatever phase it ends
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope(shield=True)
        self.errors: int = 0
        """Number of refused calls; a missing indicator is not an error."""

    def __repr__(self) -> str:
        return f"<Typing in {self._channel_id}, {self._phase.name.lower()}>"

    async def run(self) -> None:
        """Renew the indicator until `hide`."""
        # In its own task, and shielded: the call must not be cancelled (see lanes.py).
        try:
            with self._scope:
                while self._phase is not Phase.OVER:
                    if self._phase is Phase.HELD:
                        await self._changed.wait()
                        continue
                    self._phase = Phase.SHOWN
                    await self._show()
                    await self._rest()
        except Exception as error:  # noqa: BLE001 - a missing indicator is harmless
            log_failure(_LOG, "a typing indicator failed", error)
            self.hide()

    def hide(self) -> None:
        """Stop renewing; a call in flight ends by itself, and a waiting one is not made."""
        self._phase = Phase.OVER
        self._change()
        if not self._calling:
            self._scope.cancel()

    def end(self) -> None:
        """Stop at once, even if a call is in flight; only for closing."""
        self.hide()
        self._scope.cancel()

    async def before_message(self, *, last: bool) -> None:
        """Pause the indicator, or hide it if *last*; wait briefly for a call in flight."""
        if last:
            self.hide()
        elif self._phase is not Phase.OVER:
            self._phase = Phase.HELD
        with anyio.move_on_after(CALL_WAIT_S):
            while self._calling:
                await self._changed.wait()

    def after_message(self) -> None:
        """Resume and renew the indicator: the message has cleared it."""
        if self._phase is not Phase.OVER:
            self._phase = Phase.DUE
        self._change()

    async def _show(self) -> None:
        async with self._pacer.turn("typing", self._channel_id) as turn:
            if self._phase in (Phase.HELD, Phase.OVER):
                return
            self._calling = True
            try:
                answer = await self._sender.typing(self._channel_id)
            finally:
                self._calling = False
                self._change()
            turn.settle(answer)
            if isinstance(answer, Rejected):
                # No permission, no channel: it would be refused every eight seconds, and each
                # refusal counts towards Discord's ban for invalid requests.
                self.errors += 1
                self._phase = Phase.OVER

    async def _rest(self) -> None:
        """Wait until the indicator must be renewed: after `RENEW_S`, or after a message."""
        with anyio.move_on_after(RENEW_S):
            while self._phase in (Phase.SHOWN, Phase.HELD):
                await self._changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
