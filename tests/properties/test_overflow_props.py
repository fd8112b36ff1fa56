"""The rest of a reply: whatever is taken, put back or made a file, each character is in one place."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.pending import FittedBatch
from minamo.core.accounting.spans import Ledger
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.lexing.segmenter import Run, Segment
from minamo.testing.strategies import markdown_texts, texts

WAYS = ("thread", "file", "file refused", "withdrawn")


def positions(batches: list[FittedBatch]) -> list[tuple[int, str]]:
    """Each character that went out, with where it stood."""
    found: list[tuple[int, str]] = []
    for batch in batches:
        where = [start + n for start, size in batch.trail for n in range(size)]
        for message in batch.fitted.messages[: batch.sent]:
            for piece in message.pieces:
                if piece.start is not None:
                    stood = where[piece.start : piece.start + len(piece.text)]
                    found += zip(stood, piece.text, strict=True)
    return found


def waiting_outbox(text: str, batches: list[FittedBatch]) -> Outbox:
    # What cleaning changes is not what this is about.
    config = StreamConfig(max_message_length=100, humanize=False, clean_off=frozenset(RULES))
    made = Outbox(config, Ledger(), batches.append)
    for found in re.finditer(r"[^\n]*\n*", text):
        if found.group():
            made.put(Segment(found.group(), (Run(0, found.start()),)))
    return made


@given(
    st.one_of(markdown_texts(), texts()),
    st.integers(1, 4),
    st.sampled_from(WAYS),
    st.sampled_from([1, None]),
)
def test_every_character_is_in_one_place(text: str, after: int, way: str, most: int | None) -> None:
    batches: list[FittedBatch] = []
    box = waiting_outbox(text, batches)
    while box.waiting and box.count < after:
        assert len(box.take(most, after - box.count)) <= after
    assert box.count <= after
    if way == "thread":
        while box.waiting:
            box.take(most)
    elif way == "withdrawn":
        box.withdraw("stop")
    else:
        file = box.take_rest()
        assert file in text or "".join(file.split()) in "".join(text.split())
        if way == "file refused" and file:
            batches.pop()
            box.put_rest_back()
            while box.waiting:
                box.take(most)
    assert box.waiting == 0
    went = positions(batches)
    order = [position for position, _ in went]
    assert order == sorted(set(order)), "shown twice, or out of order"
    assert all(text[position] == char for position, char in went)
    places = Counter(order)
    for span in box.ledger.spans:
        places.update(range(span.start, span.end))
    assert places == Counter(range(len(text)))
    assert all(size >= 0 for size in box.ledger.additions.values())


@given(st.integers(1, 3), st.integers(4, 40))
def test_a_cut_in_code_goes_on_in_code(after: int, lines: int) -> None:
    text = "```py\n" + "".join(f"line_{n} = {n}\n" for n in range(lines)) + "```\nEnd.\n"
    box = waiting_outbox("", [])
    box.put(Segment(text, (Run(0, 0),)))
    shown = [message.text for message in box.take(None, after)]
    while box.waiting:
        shown += [message.text for message in box.take()]
    assert shown == [message.text for message in fit(text, limit=100).messages]
