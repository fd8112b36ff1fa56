"""Messages that are fitted already and may go at once, one after the other.

A sender that can asks for the next message with the answer to the last, in the task that makes the
calls: so between two calls nobody has to be woken, which is most of what a lane costs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from attrs import define, field

from minamo.shell.sending.delivery import Delivery
from minamo.shell.sending.dispatch import Dispatch
from minamo.shell.sending.pacing import Pacer, Turn
from minamo.shell.sending.sender import Answer, Post, Sender

Next = Callable[[Answer | None], Post | None]
"""The next message, for the answer to the last; None if it has to wait or there is none."""


def in_bursts(sender: Sender) -> Callable[[Next], Awaitable[object]] | None:
    """The sender's way to send several, if it has one."""
    return getattr(sender, "create_all", None)


def fits_in(one: Dispatch) -> bool:
    """Whether the message whose turn it is is only to be sent, with nothing to do around it."""
    first = one.first
    if first is None or one.typing is not None or first.wait_s > 0:
        return False
    return first.kind == "create" and first.post.file is None and one.next_thread() is None


@define(eq=False)
class Burst:
    """Settles each message of a dispatch and gives out the next."""

    _pacer: Pacer
    _one: Dispatch
    _turn: Turn | None
    """Leave for the first."""
    _out: Delivery | None = field(default=None, init=False)
    error: Exception | None = field(default=None, init=False)
    """What somebody who heard a receipt raised; for the lane to raise again."""

    def __call__(self, answer: Answer | None) -> Post | None:
        """Learn what became of the last message; the next one, if it may go now."""
        try:
            if answer is not None:
                self._settle(answer)
            return self._next()
        except Exception as error:  # noqa: BLE001 - not lost: the lane raises it
            self.error = error
            return None

    def _settle(self, answer: Answer) -> None:
        assert self._out is not None
        assert self._turn is not None
        now = anyio.current_time()
        turn, self._turn = self._turn, None
        turn.hear(answer)
        self._pacer.learn(turn, now)
        self._out.answer(answer, now)

    def _next(self) -> Post | None:
        one, delivery = self._one, self._one.first
        if delivery is None or not fits_in(one):
            return None
        if self._turn is None:
            self._turn = self._pacer.at_once(one.route, one.sender.place)
        if self._turn is None:
            return None
        one.tried = True
        self._out = delivery
        delivery.turn_came(max(self._turn.began_at, delivery.accepted_at))
        return delivery.post
