"""Running text to Discord messages that fit and render.

`fit` takes one text and gives the fewest messages that hold it: nothing lost, nothing cut that
should stay whole, and all formatting closed at the end of a message and opened again in the
next.  What is still open at the end of the text goes into the carry, for the text after it.
"""

from __future__ import annotations

import re

from attrs import frozen

from minamo.core.assembly import Message, assemble
from minamo.core.carry import NOTHING, Carry, past_blank
from minamo.core.drafting import Follows, compose
from minamo.core.limits import MESSAGE_LENGTH, MESSAGE_LENGTH_MIN, UTF16_MAX
from minamo.core.pieces import Dropped, Piece
from minamo.core.places import lay_out

__all__ = ["NOTHING", "Carry", "Fitted", "Message", "fit"]

_TABLES = ("code", "bullets", "raw")
# Most of what models write: no character that begins formatting, a quote, a table or a tag, and
# at least one that is seen.  ASCII, so that a character is one UTF-16 unit.
_PLAIN = re.compile(r"(?=[\n -/:-@{}^\]]*[A-Za-z0-9])[\n -)+-;=?-Z^\]a-z{}]*\Z")


@frozen(slots=True)
class Fitted:
    """A text as messages; what is in none of them; and what the next text starts inside of."""

    messages: tuple[Message, ...]
    dropped: tuple[Dropped, ...]
    carry: Carry = NOTHING


def fit(
    text: str,
    *,
    limit: int = MESSAGE_LENGTH,
    tables: str = "code",
    carry: Carry = NOTHING,
    last: bool = True,
    cut_off: bool = False,
    ahead: str = "",
    mid_line: bool = False,
) -> Fitted:
    """Make messages of *text*, each of at most *limit* characters.

    Unless *last*, more text follows, and is fitted with the carry returned here; *ahead* is as much
    of it as is known: what that closes is closed here and opened again there, as is a spoiler.
    *cut_off* says that the reply ends here and is not complete, so that a spoiler is closed.  With
    *mid_line* the text goes on in a line that an earlier one began: its beginning opens no fence or
    table.
    """
    if not MESSAGE_LENGTH_MIN <= limit <= UTF16_MAX:
        raise ValueError(f"limit must be {MESSAGE_LENGTH_MIN} to {UTF16_MAX}")
    if tables not in _TABLES:
        raise ValueError(f"tables must be one of {', '.join(_TABLES)}")
    if not text.strip():
        blank = (Dropped(0, len(text), "blank"),) if text else ()
        return Fitted((), blank, NOTHING if last else past_blank(carry, text))
    free = not (carry.formatting or carry.fence or carry.table)
    if free and len(text) <= limit and _PLAIN.match(text):
        return _as_it_is(text)
    follows = Follows(last, cut_off, ahead)
    draft, found, rest = compose(text, tables, carry, follows, mid_line=mid_line)
    messages, dropped = assemble(draft, lay_out(draft.text, found, draft.blocks, limit))
    return Fitted(messages, dropped, NOTHING if last else rest)


def carry_after(text: str, *, tables: str, carry: Carry, ahead: str, mid_line: bool) -> Carry:
    """The carry of a *text* that more follows, which is not blank, without the messages."""
    return compose(text, tables, carry, Follows(last=False, ahead=ahead), mid_line=mid_line)[2]


def _as_it_is(text: str) -> Fitted:
    """One message, for text that fits and has nothing in it to look at."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    edges = ((0, start), (end, len(text)))
    dropped = tuple(Dropped(low, high, "seam") for low, high in edges if low < high)
    return Fitted((Message((Piece(text[start:end], start),)),), dropped)
