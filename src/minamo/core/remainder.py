"""A text that is fitted in two parts: where the second begins, and both together."""

from __future__ import annotations

from minamo.core.fit import Fitted, Message
from minamo.core.pieces import Dropped, Piece


def beginning(text: str, fitted: Fitted, count: int) -> int:
    """Where in *text* that begins which is not in the first *count* messages.

    A line that none of them shows a part of is left whole, with the marks that fitting drops.
    """
    shown = [p for message in fitted.messages[:count] for p in message.pieces]
    ends = [p.start + len(p.text) for p in shown if p.start is not None]
    starts = [p.start for p in fitted.messages[count].pieces if p.start is not None]
    line = text.rfind("\n", 0, starts[0]) + 1
    return line if line >= max(ends, default=0) else starts[0]


def shortened(fitted: Fitted, count: int, start: int) -> Fitted:
    """The first *count* messages, and what is in none of them before *start*."""
    dropped = (
        Dropped(one.start, min(one.end, start), one.reason)
        for one in fitted.dropped
        if one.start < start
    )
    return Fitted(fitted.messages[:count], tuple(dropped), fitted.carry)


def followed(front: Fitted, rest: Fitted, start: int) -> Fitted:
    """Both together; in the whole text the *rest* begins at *start*."""
    messages = [
        Message(
            tuple(
                one if one.start is None else Piece(one.text, one.start + start, one.reason)
                for one in message.pieces
            )
        )
        for message in rest.messages
    ]
    dropped = [Dropped(one.start + start, one.end + start, one.reason) for one in rest.dropped]
    return Fitted((*front.messages, *messages), (*front.dropped, *dropped), rest.carry)
