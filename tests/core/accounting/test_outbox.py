"""What is given out and does not arrive leaves the books and the text as if it never was."""

from __future__ import annotations

import pytest

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from support.fake_discord import outbox

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
