"""Fitting of running text into Discord messages that render.

`fit` takes one text and returns the fewest messages that hold it: nothing lost, nothing cut that
should stay whole, and all formatting closed at the end of a message and reopened in the next.
Formatting still open at the end of the text is returned as the carry, for the text after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import msgspec
from attrs import evolve, field, frozen
from msgspec.structs import replace

from minamo.core.accounting.spans import DroppedSpan, TextSpan
from minamo.core.fitting.compose import LOOSE, NOTHING, Follows, OpenFormatting, compose, past_blank
from minamo.core.fitting.cut_points import lay_out
from minamo.core.fitting.markdown import unfinished_tokens
from minamo.core.fitting.split import FittedMessage, assemble
from minamo.core.limits import (
    AHEAD_MAX,
    FIT_KNOWN,
    FIT_MAX,
    FIT_STEP,
    MESSAGE_LENGTH,
    MESSAGE_LENGTH_MIN,
    UTF16_MAX,
)


def offset_after(text: str, fitted: Fitted, count: int) -> int:
    """Return the offset in *text* just past the first *count* messages.

    A line of which they show no part is left whole, with the marks that fitting drops.
    """
    shown = [piece for message in fitted.messages[:count] for piece in message.pieces]
    ends = [piece.start + len(piece.text) for piece in shown if piece.start is not None]
    starts = [piece.start for piece in fitted.messages[count].pieces if piece.start is not None]
    line = text.rfind("\n", 0, starts[0]) + 1
    return line if line >= max(ends, default=0) else starts[0]


def truncate(fitted: Fitted, count: int, start: int) -> Fitted:
    """Return the first *count* messages, and the spans dropped before *start*."""
    dropped = fitted.dropped[: bisect_left(fitted.dropped, start, key=lambda span: span.start)]
    if dropped and dropped[-1].end > start:
        dropped = *dropped[:-1], DroppedSpan(dropped[-1].start, start, dropped[-1].reason)
    return Fitted(fitted.messages[:count], dropped, fitted.carry)


__all__ = ["NOTHING", "Fitted", "FittedMessage", "OpenFormatting", "fit"]

_TABLES = ("code", "bullets", "raw")
# Most text that models write: no character that begins formatting, a quote, a table or a tag, and
# at least one that is visible.  ASCII, so that a character is one UTF-16 unit.
_PLAIN = re.compile(r"(?=[\n -/:-@{}^\]]*[A-Za-z0-9])[\n -)+-;=?-Z^\]a-z{}]*\Z")


class Fitted(msgspec.Struct, frozen=True, gc=False):
    """A text as messages, the spans in none of them, and the formatting open at its end."""

    messages: tuple[FittedMessage, ...]
    dropped: tuple[DroppedSpan, ...]
    carry: OpenFormatting = NOTHING


@frozen(slots=True)
class Portion:
    """A part of a long text, fitted, and the portions before it.

    A reply that grows is fitted again for each edit, so what is before is shared, not copied.
    """

    fitted: Fitted
    start: int = 0
    """The offset in the whole text at which it begins."""
    before: Portion | None = None
    texts: tuple[str, ...] = field(init=False)
    """The texts of all messages up to its end."""

    @texts.default
    def _texts(self) -> tuple[str, ...]:
        own = [message.text for message in self.fitted.messages]
        return (*self.before.texts, *own) if self.before else tuple(own)

    def first(self, count: int) -> tuple[Portion, int]:
        """Return the first *count* messages, and the offset at which they end."""
        portion, before = self, self.before
        while before is not None and len(before.texts) >= count:
            portion, before = before, before.before
        own = count - len(before.texts) if before else count
        end = _end(portion.fitted.messages[own - 1]) if own else 0
        return evolve(portion, fitted=truncate(portion.fitted, own, end)), portion.start + end

    @property
    def whole(self) -> Fitted:
        """The whole text up to its end."""
        chain = [self]
        while (before := chain[-1].before) is not None:
            chain.append(before)
        parts = [_shifted(portion.fitted, portion.start) for portion in reversed(chain)]
        return Fitted(
            tuple(message for part in parts for message in part.messages),
            tuple(span for part in parts for span in part.dropped),
            self.fitted.carry,
        )


NO_TEXT = Portion(Fitted((), ()))


def _end(message: FittedMessage) -> int:
    """Return the offset in the fitted text at which the message ends."""
    ends = [piece.start + len(piece.text) for piece in message.pieces if piece.start is not None]
    return max(ends, default=0)


def _shifted(fitted: Fitted, start: int) -> Fitted:
    """Return *fitted* with all offsets raised by *start*."""
    messages = [
        FittedMessage(message.text, tuple(_shifted_piece(piece, start) for piece in message.pieces))
        for message in fitted.messages
    ]
    dropped = [
        DroppedSpan(span.start + start, span.end + start, span.reason) for span in fitted.dropped
    ]
    return Fitted(tuple(messages), tuple(dropped), fitted.carry)


def _shifted_piece(piece: TextSpan, start: int) -> TextSpan:
    if piece.start is None:
        return piece
    return TextSpan(piece.text, piece.start + start, piece.reason)


def fit(
    text: str,
    *,
    limit: int = MESSAGE_LENGTH,
    tables: str = "code",
    carry: OpenFormatting = NOTHING,
    last: bool = True,
    cut_off: bool = False,
    ahead: str = "",
    mid_line: bool = False,
    masked_links: bool = False,
) -> Fitted:
    """Return *text* as messages of at most *limit* characters each.

    Unless *last*, more text follows, to be fitted with the carry returned here; *ahead* is the part
    of it that is known: formatting that it closes is closed here and reopened there, as is a
    spoiler.  *cut_off*: the reply ends here and is not complete, so a spoiler is closed.
    *mid_line*: the text continues a line that an earlier one began, so its beginning opens no fence
    or table.  *masked_links*: those that are left are not laid open.
    """
    if not MESSAGE_LENGTH_MIN <= limit <= UTF16_MAX:
        raise ValueError(f"limit must be {MESSAGE_LENGTH_MIN} to {UTF16_MAX}")
    if tables not in _TABLES:
        raise ValueError(f"tables must be one of {', '.join(_TABLES)}")
    if not text.strip():
        blank = (DroppedSpan(0, len(text), "blank"),) if text else ()
        return Fitted((), blank, NOTHING if last else past_blank(carry, text))
    free = not (carry.formatting or carry.fence or carry.table)
    if free and len(text) <= limit and _PLAIN.match(text):
        return _as_it_is(text, LOOSE if carry.loose and not last else NOTHING)
    follows = Follows(last, cut_off, ahead)
    draft, found, rest = compose(text, tables, carry, follows, mid_line=mid_line)
    layout = lay_out(draft.text, found, draft.blocks, limit)
    messages, dropped = assemble(draft, layout, masked_links=masked_links)
    return Fitted(messages, dropped, NOTHING if last else rest)


def carry_after(
    text: str, *, tables: str, carry: OpenFormatting, ahead: str, mid_line: bool
) -> OpenFormatting:
    """Return the carry of a non-blank *text* that more text follows, without the messages."""
    return compose(text, tables, carry, Follows(last=False, ahead=ahead), mid_line=mid_line)[2]


def _as_it_is(text: str, carry: OpenFormatting) -> Fitted:
    """Return one message, for text that fits and has no markup."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    dropped: tuple[DroppedSpan, ...] = ()
    if start:
        dropped = (DroppedSpan(0, start, "seam"),)
    if end < len(text):
        dropped = (*dropped, DroppedSpan(end, len(text), "seam"))
    message = FittedMessage(text[start:end], (TextSpan(text[start:end], start),))
    return Fitted((message,), dropped, carry)


def _portion_end(text: str, least: int) -> int:
    """Return where a portion of nearly invisible text ends: behind a line, else behind a blank."""
    if len(text) <= FIT_MAX:
        return len(text)
    end = text.rfind("\n", least, FIT_MAX) + 1 or text.rfind(" ", least, FIT_MAX) + 1
    return end or FIT_MAX


def _settled_count(fitted: Fitted, until: int) -> int:
    """Return how many messages the text after a portion cannot change.

    The last message may continue in that text.  Of the others, those that end before *until* are
    settled, because a code span or token that begins in one is seen whole; and the first, always.
    """
    count = 0
    for message in fitted.messages[:-1]:
        ends = [
            piece.start + len(piece.text) for piece in message.pieces if piece.start is not None
        ]
        if count and ends and ends[-1] > until:
            break
        count += 1
    return count


def fit_front(
    text: str,
    *,
    room: int | None = None,
    limit: int = MESSAGE_LENGTH,
    tables: str = "code",
    carry: OpenFormatting = NOTHING,
    last: bool = True,
    cut_off: bool = False,
    ahead: str = "",
    mid_line: bool = False,
    masked_links: bool = False,
    grows: bool = False,
) -> tuple[Fitted, int]:
    """Fit *text*, or the beginning of a long one; return also where the rest begins.

    There are at most *room* messages, and none if nothing of the beginning is visible.  *grows*:
    the text will be fitted again when it is longer, so a first message that is settled is returned
    alone.  The other arguments are those of `fit`; the rest is to be fitted with the carry returned
    here.
    """
    step = limit * FIT_STEP // 100
    if len(text) <= (FIT_MAX if room is None else step):
        size = len(text)
    else:
        # Long messages: the largest portion at once, rather than a second attempt with it.
        size = step if step + limit <= FIT_MAX else _portion_end(text, step)
    while True:
        whole = size >= len(text)
        fitted = fit(
            text[:size],
            limit=limit,
            tables=tables,
            carry=carry,
            last=whole and last,
            cut_off=whole and cut_off,
            ahead=ahead if whole else text[size : size + AHEAD_MAX],
            mid_line=mid_line,
            masked_links=masked_links,
        )
        count = len(fitted.messages)
        if whole and (room is None or count <= room):
            first = _settled_first(text, fitted, limit, tables, carry, mid_line) if grows else None
            return first or (fitted, len(text))
        if not whole:
            count = _settled_count(fitted, size - limit)
        if count > 0:
            break
        if size > step:
            return fitted, size  # nearly nothing of it is visible: a portion by itself
        size = _portion_end(text, step)
    count = count if room is None else min(count, room)
    start = offset_after(text, fitted, count)
    after = text[start : start + AHEAD_MAX]
    rest = carry_after(text[:start], tables=tables, carry=carry, ahead=after, mid_line=mid_line)
    return replace(truncate(fitted, count, start), carry=rest), start


def _settled_first(
    text: str, fitted: Fitted, limit: int, tables: str, carry: OpenFormatting, mid_line: bool
) -> tuple[Fitted, int] | None:
    """Return the first message and where the rest begins, if more text cannot change the message.

    Enough text after it is known, no token that it may have cut is unfinished, and each marker in
    it has its partner.
    """
    if len(fitted.messages) < 2:
        return None
    start = offset_after(text, fitted, 1)
    if (
        len(text) - start < limit * FIT_KNOWN // 100
        or min(unfinished_tokens(text), default=start) < start
    ):
        return None
    _, found, rest = compose(text[:start], tables, carry, Follows(last=False), mid_line=mid_line)
    if found.unpaired or rest.formatting:
        return None
    return replace(truncate(fitted, 1, start), carry=rest), start
