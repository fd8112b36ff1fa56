"""A reply that grows in place: what stands in the channel was said, whatever ends it."""

from __future__ import annotations

import pytest

from minamo.core.chunks import Text
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from minamo.shell.sending.editing import Pages
from minamo.shell.sending.growing import Growing
from minamo.shell.sending.receipts import Receipt

LINK = "See [good](https://e.example/x) now.\n\nMore to come"
SEEN = "Sure: See good (<https://e.example/x>) now.\n\nMore to come"
CUTS = {"kill": "killed", "follow_up": "follow_up", "delivery_lost": "undelivered",
        "limit_reached": "limit"}  # fmt: skip


def reading(*texts: str, **settings: object) -> Stream:
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    for text in texts:
        stream.chunk(Text(text))
    return stream


def grown(*texts: str, **settings: object) -> tuple[Stream, Growing]:
    stream = reading(*texts, **settings)
    config = stream.actions.config
    pages = Pages(limit=config.max_message_length, most=config.send_message_limit)
    return stream, Growing(stream, pages)


def show(growing: Growing) -> list[str]:
    """Make every call that is due; what the messages read."""
    growing.touch()
    made = []
    while growing.waiting and (changes := growing.take()):
        (change,) = changes
        made.append(change.text)
        answer(growing, len(made))
    return made


def answer(growing: Growing, message_id: int | None) -> None:
    outcome = "refused" if message_id is None else "delivered"
    growing.heard(Receipt(outcome=outcome, channel_id=1, index=0, characters=0,
                          message_id=message_id))  # type: ignore[arg-type]  # fmt: skip


def books(stream: Stream) -> tuple[str, dict[str, int], dict[str, int]]:
    ledger = stream.actions.ledger
    return stream.actions.outbox.text, dict(ledger.suppressed), dict(+ledger.additions)


def preview(stream: Stream) -> str:
    pending, fence = stream.actions.buffer.pending
    return stream.actions.outbox.preview(pending, fence=fence)


def test_what_waits_is_seen_with_what_is_not_complete() -> None:
    stream = reading(LINK, prefill="Sure: ")
    assert preview(stream) == SEEN
    assert stream.actions.buffer.pending == ("More to come", "")
    assert stream.actions.outbox.waiting == len("Sure: See [good](https://e.example/x) now.\n\n")
    assert not stream.actions.ledger.additions  # nothing was given out


def test_what_is_held_back_is_not_seen() -> None:
    assert preview(reading("Say <thi")) == "Say "


def test_code_that_is_not_complete_is_not_cleaned() -> None:
    line = "[a](https://e.example/x)\n"
    stream = reading("```\n" + line * 3, flush_buffer_size_code_block=40)
    assert stream.actions.buffer.pending == (line, "```")
    assert preview(stream) == "```\n" + line * 3


@pytest.mark.parametrize("cut", CUTS)
def test_what_stands_was_said_and_the_rest_was_not(cut: str) -> None:
    stream, growing = grown(LINK, prefill="Sure: ")
    assert show(growing) == [SEEN]
    stream.chunk(Text(" and more.\n\nLast <th"))
    getattr(stream, cut)()
    text, suppressed, additions = books(stream)
    assert text == SEEN
    assert suppressed == {"clean.masked_link": 2, CUTS[cut]: len(" and more.\n\nLast <th")}
    assert additions == {"prefill": 6, "clean.masked_link": 3}
    assert stream.actions.outbox.waiting == stream.actions.outbox.shown == 0


@pytest.mark.parametrize(
    ("shown", "text", "suppressed", "additions"),
    [
        (57, SEEN, {"clean.masked_link": 2}, {"prefill": 6, "clean.masked_link": 3}),
        (53, SEEN[:52], {"clean.masked_link": 2, "seam": 1, "killed": 4},
         {"prefill": 6, "clean.masked_link": 3}),
        (20, SEEN[:20], {"clean.masked_link": 2, "killed": 36},
         {"prefill": 6, "clean.masked_link": 2}),
        (8, SEEN[:8], {"clean.masked_link": 2, "killed": 46}, {"prefill": 6}),
        (3, "Sur", {"clean.masked_link": 2, "killed": 48}, {"prefill": 3}),
        (0, "", {"clean.masked_link": 2, "killed": 48}, {}),
    ],
)  # fmt: skip
def test_every_character_is_said_or_suppressed_wherever_the_cut_is(
    shown: int, text: str, suppressed: dict[str, int], additions: dict[str, int]
) -> None:
    stream = reading(LINK, prefill="Sure: ")
    stream.actions.outbox.shown = shown
    stream.kill()
    assert books(stream) == (text, suppressed, additions)


def test_a_page_that_stands_alone_is_all_that_was_said() -> None:
    words = "word " * 40
    stream, growing = grown(words, max_message_length=100)
    growing.touch()
    (first,) = growing.take()
    answer(growing, 1)
    assert first.text == " ".join(["word"] * 20)
    stream.kill()
    text, suppressed, _ = books(stream)
    assert text == first.text
    assert suppressed == {"killed": len(words) - len(first.text)}


def test_a_call_that_is_out_counts_as_said_until_it_fails() -> None:
    stream, growing = grown("One")
    growing.touch()
    growing.take()
    assert stream.actions.outbox.shown == 3
    answer(growing, None)
    assert stream.actions.outbox.shown == 0
    stream.delivery_lost()
    assert books(stream) == ("", {"undelivered": 3}, {})


def test_a_kill_during_the_first_call_says_what_then_fails() -> None:
    stream, growing = grown("One")
    growing.touch()
    growing.take()
    stream.kill()
    assert books(stream) == ("One", {}, {})
    stream.missed(0, "undelivered")
    assert books(stream) == ("", {"undelivered": 3}, {})


def test_a_message_arrives_before_anything_is_booked() -> None:
    stream, growing = grown("One")
    show(growing)
    stream.arrived(0)
    stream.delivered()
    stream.end()
    growing.settle()
    stream.flushed()
    assert stream.result().status == "completed"
    assert books(stream) == ("One", {}, {})


def test_the_limit_keeps_the_messages_there_are() -> None:
    words = "word " * 40
    stream, growing = grown(words, max_message_length=100, send_message_limit=1)
    assert show(growing) == [" ".join(["word"] * 20)]
    assert growing.limited
    stream.limit_reached()
    text, suppressed, _ = books(stream)
    assert text == " ".join(["word"] * 20)
    assert suppressed == {"limit": len(words) - len(text)}


def test_what_fitting_adds_is_booked_when_the_reply_is_cut_off() -> None:
    stream, growing = grown("```py\nx = 1\n")
    assert show(growing) == ["```py\nx = 1\n```"]
    stream.kill()
    assert books(stream) == ("```py\nx = 1", {}, {"closer": 3})


@pytest.mark.parametrize("broken", [False, True])
def test_at_the_end_all_is_booked_as_it_stands(broken: bool) -> None:
    stream, growing = grown(LINK, prefill="Sure: ")
    show(growing)
    stream.chunk(Text(" and more."))
    stream.end()
    if broken:
        growing.withdraw("drain_timeout")
    else:
        show(growing)
    growing.settle()
    unseen = {"undelivered": len(" and more.")} if broken else {}
    assert books(stream) == (
        SEEN if broken else SEEN + " and more.",
        {"clean.masked_link": 2, **unseen},
        {"prefill": 6, "clean.masked_link": 3},
    )


def test_a_reply_that_grows_is_not_humanised() -> None:
    whole = "Oh... well then. Okay."
    stream, growing = grown(whole, degree=3)
    assert show(growing) == [whole]
    stream.end()
    growing.settle()
    assert books(stream) == (whole, {}, {})


def test_what_turned_out_to_be_a_thought_was_not_said() -> None:
    stream, growing = grown("I wonder")
    assert show(growing) == ["I wonder"]
    stream.chunk(Text("</think>Yes, it is."))
    stream.kill()
    assert stream.actions.captures.texts("think") == ("I wonder",)
    assert books(stream) == ("", {"marker": 8, "killed": 11}, {})


@pytest.mark.parametrize("cut", CUTS)
def test_half_a_character_goes_with_the_rest(cut: str) -> None:
    stream = reading("Hi\ud83d")
    getattr(stream, cut)()
    # It was replaced, and what replaced it is not shown.
    assert books(stream) == ("", {"surrogate": 1, CUTS[cut]: 3}, {"surrogate": 1})


def test_a_kill_after_the_end_changes_nothing_of_what_was_read() -> None:
    stream = reading("Hi\ud83d")
    stream.end()
    stream.kill()
    assert books(stream) == ("", {"surrogate": 1, "killed": 3}, {"surrogate": 1})
