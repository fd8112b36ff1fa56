"""Fit a long text a portion at a time, so that no call takes long."""

from __future__ import annotations

from attrs import evolve

from minamo.core.fit import NOTHING, Carry, Fitted, carry_after, fit
from minamo.core.limits import AHEAD_MAX, FIT_MAX, FIT_STEP, MESSAGE_LENGTH
from minamo.core.remainder import beginning, shortened


def fit_front(
    text: str,
    *,
    room: int | None = None,
    limit: int = MESSAGE_LENGTH,
    tables: str = "code",
    carry: Carry = NOTHING,
    last: bool = True,
    cut_off: bool = False,
    ahead: str = "",
    mid_line: bool = False,
) -> tuple[Fitted, int]:
    """Fit *text*, or if it is long the beginning of it; tell also where the rest begins.

    There are no more messages than *room*; the other arguments are those of `fit`.  The rest is
    fitted with the carry returned here.
    """

    def fitted_to(size: int) -> Fitted:
        whole = size >= len(text)
        return fit(
            text[:size],
            limit=limit,
            tables=tables,
            carry=carry,
            last=whole and last,
            cut_off=whole and cut_off,
            ahead=ahead if whole else text[size : size + AHEAD_MAX],
            mid_line=mid_line,
        )

    step = limit * FIT_STEP // 100
    size = len(text) if len(text) <= (FIT_MAX if room is None else step) else step
    while True:
        fitted = fitted_to(size)
        count = len(fitted.messages)
        if size >= len(text) and (room is None or count <= room):
            return fitted, len(text)
        # The last message may go on in the text that was not fitted.
        count -= size < len(text)
        if count > 0:
            break
        size *= 2  # nearly nothing of this is shown
    count = count if room is None else min(count, room)
    start = beginning(text, fitted, count)
    after = text[start : start + AHEAD_MAX]
    rest = carry_after(text[:start], tables=tables, carry=carry, ahead=after, mid_line=mid_line)
    return evolve(shortened(fitted, count, start), carry=rest), start
