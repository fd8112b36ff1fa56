"""The rest of a reply: what an overflow leaves waiting, makes a file of, and puts back."""

from __future__ import annotations

import pytest

from minamo.core.accounting.outbox import Outbox
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from support.fake_discord import outbox, segment

LINES = [f"line_{number} = {number}\n" for number in range(20)]
CODE = "```py\n" + "".join(LINES) + "```\nEnd.\n"
SMALL = {"degree": 0, "max_message_length": 100}


def waiting(*texts: str, **settings: object) -> Outbox:
    """What waits of a reply that has ended."""
    stream = Stream(StreamConfig(**{"humanize": False, **settings}))  # type: ignore[arg-type]
    for text in texts:
        stream.chunk(TextChunk(text))
    stream.end()
    return stream.actions.outbox


def texts(box: Outbox, most: int | None = None, room: int | None = None) -> list[str]:
    return [message.text for message in box.take(most, room)]


def fenced(*lines: str) -> str:
    return "```py\n" + "".join(lines) + "```"


def test_a_text_that_fits_the_room_is_taken_whole() -> None:
    box = waiting("One.\n\nTwo.")
    assert texts(box, None, 1) == ["One.\n\nTwo."]
    assert box.waiting == 0


def test_what_has_no_room_goes_on_waiting() -> None:
    box = waiting(CODE, **SMALL)
    assert texts(box, None, 1) == [fenced(*LINES[:8])]
    assert (box.count, box.waiting) == (1, len("".join(LINES[8:]) + "```\nEnd.\n"))
    assert texts(box, None, 1) == [fenced(*LINES[8:15])]
    assert texts(box, None, 1) == [fenced(*LINES[15:]) + "\nEnd."]
    assert (box.count, box.waiting) == (3, 0)
    assert box.text == CODE.strip()
    assert dict(box.ledger.suppressed) == {"seam": 1}
    assert dict(box.ledger.additions) == {"closer": 6, "reopened": 12}


def test_the_rest_is_as_written_and_may_come_back() -> None:
    box = waiting(CODE, **SMALL)
    box.take(None, 1)
    assert box.take_rest() == "".join(LINES[8:]) + "```\nEnd.\n"
    assert (box.count, box.waiting) == (2, 0)
    assert dict(box.ledger.additions) == {"closer": 3}
    box.put_rest_back()
    assert (box.count, box.waiting) == (1, len("".join(LINES[8:]) + "```\nEnd.\n"))
    assert texts(box) == [fenced(*LINES[8:15]), fenced(*LINES[15:]) + "\nEnd."]
    assert box.text == CODE.strip()
    assert dict(box.ledger.suppressed) == {"seam": 1}
    assert dict(box.ledger.additions) == {"closer": 6, "reopened": 12}


def test_a_line_that_no_message_shows_is_left_with_its_marks() -> None:
    first, second = "> " + "a" * 90, "> " + "b" * 90
    box = waiting(f"{first}\n{second}", **SMALL)
    assert texts(box, None, 1) == [first]
    assert box.take_rest() == second
    assert box.text == f"{first}\n{second}"
    assert dict(box.ledger.suppressed) == {"seam": 1}
    assert not +box.ledger.additions


def test_a_line_that_is_shown_in_part_is_left_where_it_was_cut() -> None:
    words = " ".join(["word"] * 30)
    box = waiting(words, **SMALL)
    (shown,) = texts(box, None, 1)
    assert shown == " ".join(["word"] * 20)
    assert box.take_rest() == " ".join(["word"] * 10)
    assert dict(box.ledger.suppressed) == {"seam": 1}
    assert box.text == words


def test_blanks_where_the_rest_begins_are_booked_once() -> None:
    box = waiting("a" * 90 + "\n" * 3 + "    " + "b" * 90, **SMALL)
    assert texts(box, None, 1) == ["a" * 90]
    assert box.waiting == 4 + 90  # the line is whole
    assert dict(box.ledger.suppressed) == {"clean.blank_lines": 1, "seam": 2}
    box.withdraw("stop")
    assert dict(box.ledger.suppressed) == {"clean.blank_lines": 1, "seam": 2, "stop": 94}


def test_a_blank_rest_is_no_file() -> None:
    box = outbox("One.\n\n", "\n\n")
    assert texts(box, 1, 1) == ["One."]
    assert box.take_rest() == ""
    assert box.take_rest() == ""
    assert (box.count, box.waiting) == (1, 0)
    assert dict(box.ledger.suppressed) == {"seam": 2, "blank": 2}


def test_a_file_counts_as_a_message() -> None:
    box = outbox("One.\n\n", "Two.", send_message_limit=1)
    box.take(1)
    assert not box.limited
    assert box.take_rest() == ""
    assert box.limited
    assert (box.count, box.text) == (1, "One.")
    assert dict(box.ledger.suppressed) == {"seam": 2, "limit": 4}


def test_a_reply_that_is_not_shown_has_no_rest() -> None:
    box = outbox("One.\n\n", "Two.", suppress_text_output=True)
    assert texts(box, 1, 1) == []
    assert box.take_rest() == ""
    assert (box.count, box.text) == (0, "One.\n\nTwo.")
    assert not box.ledger.suppressed


@pytest.mark.parametrize("refused", [False, True])
def test_a_rest_that_is_withdrawn_was_not_said(refused: bool) -> None:
    box = waiting(CODE, **SMALL)
    box.take(None, 1)
    if refused:
        box.take_rest()
        box.put_rest_back()
    box.withdraw("stop")
    assert box.waiting == 0
    assert box.text == ("```py\n" + "".join(LINES[:8])).strip()
    rest = len("".join(LINES[8:]) + "```\nEnd.\n")
    assert dict(box.ledger.suppressed) == {"stop": rest}
    assert dict(+box.ledger.additions) == {"closer": 3}


def test_a_file_that_is_lost_was_not_said() -> None:
    box = waiting(CODE, **SMALL)
    box.take(None, 1)
    rest = box.take_rest()
    box.lose(1, "undelivered")
    assert box.text == ("```py\n" + "".join(LINES[:8])).strip()
    assert dict(box.ledger.suppressed) == {"undelivered": len(rest)}


def test_what_is_added_counts_only_while_it_is_out() -> None:
    box = waiting("See [good](https://e.example/x).", prefill="Sure: ")
    assert box.take_rest() == "Sure: See good (<https://e.example/x>)."
    assert dict(box.ledger.additions) == {"prefill": 6, "clean.masked_link": 3}
    box.put_rest_back()
    assert not +box.ledger.additions
    assert texts(box) == ["Sure: See good (<https://e.example/x>)."]
    assert dict(box.ledger.additions) == {"prefill": 6, "clean.masked_link": 3}
    assert dict(box.ledger.suppressed) == {"clean.masked_link": 2}


def test_a_rest_is_fitted_with_what_came_after_it() -> None:
    box = outbox("One.\n\n")
    box.take_rest()
    box.put_rest_back()
    box.put(segment("Two.\n\n"))
    assert texts(box) == ["One.\n\nTwo."]
    assert box.text == "One.\n\nTwo."
    box.lose(0, "undelivered")
    assert box.text == ""
    assert dict(box.ledger.suppressed) == {"seam": 2, "undelivered": 10}


def test_what_came_back_leaves_nothing_behind_when_it_is_lost_alone() -> None:
    box = outbox("One.\n\n")
    box.take_rest()
    box.put_rest_back()
    box.put(segment("Two.\n\n"))
    assert texts(box, 1) == ["One."]
    assert texts(box, 1) == ["Two."]
    box.lose(0, "undelivered")
    assert box.text == "Two."


def test_a_text_is_humanised_once() -> None:
    slips = {"degree": 3, "humanize": True, "max_message_length": 100}
    once = texts(outbox("Oh... well. " * 20, **slips))
    box = outbox("Oh... well. " * 20, **slips)
    bit_by_bit = []
    while box.waiting:
        bit_by_bit += texts(box, None, 1)
    assert bit_by_bit == once
    assert "…" in "".join(once)
