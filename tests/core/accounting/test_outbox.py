"""What is given out and does not arrive leaves the books and the text as if it never was."""

from __future__ import annotations

import pytest

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.spans import (
    ADDED,
    Added,
    DroppedSpan,
    Rewritten,
    TextSpan,
    Trail,
    cut,
    map_insertions,
    map_spans,
)
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from support.fake_discord import outbox, segment

LINK = "see [good](https://evil.example/x) and so\n\n"


def taken(stream: Stream, most: int | None = 1) -> list[str]:
    return [message.text for message in stream.actions.outbox.take(most)]


def said(*texts: str, **settings: object) -> Stream:
    stream = Stream(StreamConfig(humanize=False, **settings))  # type: ignore[arg-type]
    for text in texts:
        stream.chunk(TextChunk(text))
    stream.end()
    return stream


def balance(stream: Stream, shown: list[str]) -> int:
    """Characters read that are in no place, or in two."""
    ledger = stream.actions.ledger
    hidden, added = sum(ledger.suppressed.values()), sum(ledger.additions.values())
    return stream.characters - (sum(map(len, shown)) - added + hidden)


def test_what_was_added_to_a_lost_message_is_not_an_addition() -> None:
    stream = said(LINK, "More.", prefill="Sure: ")
    first, second = [*taken(stream), *taken(stream)]
    assert first == "Sure: see good (<https://evil.example/x>) and so"
    assert +stream.actions.ledger.additions == {"prefill": 6, "clean.masked_link": 3}
    stream.missed(0, "undelivered")
    stream.arrived(1)
    assert stream.actions.outbox.text == second == "More."
    assert not +stream.actions.ledger.additions
    assert balance(stream, [second]) == 0


def test_a_prefill_that_is_not_given_out_is_no_addition() -> None:
    stream = said("Text", prefill="Sure: ")
    stream.kill()
    assert not +stream.actions.ledger.additions
    assert balance(stream, []) == 0


@pytest.mark.parametrize("lost", [[0], [1], [0, 1], []])
def test_the_header_of_a_table_goes_with_its_rows(lost: list[int]) -> None:
    table = f"\n| {'h' * 75} | b |\n|---|---|\n| c | d |\n\n"
    stream = said("First.", table, degree=0, max_message_length=100, tables="bullets")
    messages = taken(stream, None)
    assert len(messages) == 2
    for number in lost:
        stream.missed(number, "undelivered")
    kept = [text for number, text in enumerate(messages) if number not in lost]
    text = stream.actions.outbox.text
    assert ("First." in text) == (0 not in lost)
    assert ("hhh" in text) == (1 not in lost)
    assert balance(stream, kept) == 0


def test_a_message_that_was_never_given_out_cannot_be_lost() -> None:
    stream = said("Text")
    stream.missed(7, "undelivered")
    assert not stream.actions.ledger.suppressed


@pytest.mark.parametrize(
    ("text", "sent", "suppressed"),
    [
        ("A", "a", {"humanize": 1}),
        ("Okay.", "Okay", {"humanize": 1, "undelivered": 4}),
        ("Oh... well then.", "Oh… well then.", {"humanize": 3, "undelivered": 13}),
    ],
)
def test_nothing_is_left_of_a_humanised_text_that_was_lost(
    text: str, sent: str, suppressed: dict[str, int]
) -> None:
    box = outbox(text, degree=3)
    assert [message.text for message in box.take()] == [sent]
    assert box.text == text
    box.lose(0, "undelivered")
    assert box.text == ""
    assert dict(box.ledger.suppressed) == suppressed
    assert not +box.ledger.additions


def test_a_lost_message_takes_the_line_ends_behind_it() -> None:
    stream = said("One.\n\nTwo.\n\nThree.")
    assert [*taken(stream), *taken(stream), *taken(stream)] == ["One.", "Two.", "Three."]
    stream.missed(1, "undelivered")
    assert stream.actions.outbox.text == "One.\n\nThree."


@pytest.mark.parametrize(
    ("reason", "booked"),
    [("stop", "stop"), ("killed", "killed"), ("drain_timeout", "undelivered"), ("closed", "undelivered")],
)  # fmt: skip
def test_a_lanes_own_reasons_are_one_to_the_books(reason: str, booked: str) -> None:
    box = outbox("One.", "Two.")
    assert box.waiting == 8
    box.withdraw(reason)
    assert box.waiting == 0
    assert dict(box.ledger.suppressed) == {booked: 8}


def test_what_waits_is_counted_as_it_comes_and_goes() -> None:
    box = outbox("One.", "Two.", "Three.")
    assert box.waiting == 14
    box.take(1)
    assert box.waiting == 10
    box.take()
    assert box.waiting == 0


def test_a_thought_beside_the_text_is_not_glued_to_one_in_it() -> None:
    stream = Stream(StreamConfig())
    stream.chunk(TextChunk("<think>in", ("beside",)))
    stream.chunk(TextChunk("side</think>", ("again",)))
    stream.chunk(TextChunk("", ("later",)))
    stream.end()
    assert stream.actions.captures.texts("think") == ("beside", "again", "inside", "later")


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


def test_a_fence_begins_the_rest_only_at_the_start_of_a_line() -> None:
    tildes = "~~~py\nx = 1\n~~~"
    box = waiting("a" * 90 + "\n" + tildes, **SMALL)
    assert texts(box, None, 1) == ["a" * 90]
    assert texts(box, None, 1) == ["```py\nx = 1\n```"]
    box = waiting("word " * 19 + tildes.replace("\n~~~", ""), **SMALL)
    assert texts(box, None, 1) == [("word " * 19 + "~~~py").strip()]


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


# Ten characters: three from the front of the stream, two that nobody wrote, five from further on.
TRAIL: Trail = [(0, 3), (ADDED, 2), (20, 5)]
MARKS: Added = [(2, 3, "prefill"), (8, 2, "clean.mention")]


@pytest.mark.parametrize(
    ("offset", "size", "found"),
    [
        (0, 10, [(0, 3), (ADDED, 2), (20, 5)]),
        (0, 3, [(0, 3)]),
        (1, 3, [(1, 2), (ADDED, 1)]),
        (4, 2, [(ADDED, 1), (20, 1)]),
        (7, 9, [(22, 3)]),
        (5, 0, []),
        (10, 1, []),
    ],
)
def test_a_part_of_a_trail(offset: int, size: int, found: Trail) -> None:
    assert cut(TRAIL, offset, size) == found


def test_a_trail_through_a_stage() -> None:
    pieces = [TextSpan("ab", 1), TextSpan("(<", None, "clean.masked_link"), TextSpan("xyz", 6)]
    assert map_spans(TRAIL, pieces) == [(1, 2), (ADDED, 2), (21, 3)]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([TextSpan("x" * 10, 0)], MARKS),
        ([TextSpan("xx", 0)], []),  # before them all
        ([TextSpan("xxxx", 1)], [(1, 3, "prefill")]),
        ([TextSpan("xx", 3)], [(0, 2, "prefill")]),  # from within one
        ([TextSpan("xxx", 5)], []),  # between two
        ([TextSpan("xxxxx", 4)], [(0, 1, "prefill"), (4, 1, "clean.mention")]),
        (
            [TextSpan("-", None, "closer"), TextSpan("xx", 8)],
            [(0, 1, "closer"), (1, 2, "clean.mention")],
        ),
    ],
)
def test_what_nobody_wrote_through_a_stage(pieces: list[TextSpan], found: Added) -> None:
    assert map_insertions(MARKS, pieces) == found


def test_a_stage_marks_what_it_adds_to_a_text_that_was_written_whole() -> None:
    assert map_insertions([], [TextSpan("abc", 0), TextSpan("**", None, "closer")]) == [
        (3, 2, "closer")
    ]


@pytest.mark.parametrize(
    ("stage", "untouched"),
    [
        (Rewritten((TextSpan("ab", 0),)), True),
        (Rewritten((TextSpan("b", 1),), (DroppedSpan(0, 1, "seam"),)), False),
        (Rewritten((TextSpan("a", 0),), (DroppedSpan(1, 2, "seam"),)), False),
        (Rewritten((TextSpan("ab", 0), TextSpan("c", None, "file"))), False),
        (Rewritten((TextSpan("c", None, "file"),)), False),
        (Rewritten(()), False),
    ],
)
def test_a_stage_that_added_or_dropped_something_touched_its_text(
    stage: Rewritten, untouched: bool
) -> None:
    assert stage.untouched is untouched
