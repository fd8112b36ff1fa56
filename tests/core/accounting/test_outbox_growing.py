"""A reply that grows in place: what stands in the channel was said, whatever ends it."""

from __future__ import annotations

import pytest

from minamo.core.accounting.pending import RenderedPrefix, Snapshot
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import Portion, fit
from minamo.core.messages import Kind, Outcome, Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.edit_in_place import EditInPlace, PageEdit, PageSet

LINK = "See [good](https://e.example/x) now.\n\nMore to come"
SEEN = "Sure: See good (<https://e.example/x>) now.\n\nMore to come"
CUTS = {"kill": "killed", "follow_up": "follow_up", "delivery_lost": "undelivered",
        "limit_reached": "limit"}  # fmt: skip


def reading(*texts: str, **settings: object) -> Stream:
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    for text in texts:
        stream.chunk(TextChunk(text))
    return stream


def grown(*texts: str, **settings: object) -> tuple[Stream, EditInPlace]:
    stream = reading(**settings)
    config = stream.actions.config
    pages = PageSet(limit=config.max_message_length, most=config.send_message_limit)
    growing = EditInPlace(stream, pages)
    for text in texts:
        stream.chunk(TextChunk(text))
    return stream, growing


def show(growing: EditInPlace) -> list[str]:
    """Make every call that is due; what the messages read."""
    growing.touch()
    made = []
    while growing.waiting and (changes := growing.take()):
        (change,) = changes
        made.append(change.text)
        answer(growing, change.target or len(made), kind=change.kind)
    return made


def answer(growing: EditInPlace, message_id: int | None, *, kind: Kind = "create") -> None:
    outcome: Outcome = "refused" if message_id is None else "delivered"
    growing.on_receipt(
        Receipt(
            outcome=outcome, channel_id=1, index=0, characters=0, message_id=message_id, kind=kind
        )
    )


def books(stream: Stream) -> tuple[str, dict[str, int], dict[str, int]]:
    ledger = stream.actions.ledger
    return stream.actions.outbox.text, dict(ledger.suppressed), dict(+ledger.additions)


def look(stream: Stream) -> Snapshot:
    return stream.actions.outbox.snapshot(stream.actions.buffer.pending)


def cut_off(stream: Stream, growing: EditInPlace, cut: str) -> None:
    """End it as a dispatch would, but for a call that is out."""
    getattr(stream, cut)()
    growing.withdraw(stream.actions.withdrawn)


def test_what_waits_is_seen_with_what_is_not_complete() -> None:
    stream = reading(LINK, prefill="Sure: ")
    assert look(stream).text == SEEN
    assert stream.actions.buffer.pending.text == "More to come"
    assert stream.actions.outbox.waiting == len("Sure: See [good](https://e.example/x) now.\n\n")
    assert not stream.actions.ledger.additions  # nothing was given out


def test_what_is_held_back_is_not_seen() -> None:
    assert look(reading("Say <thi")).text == "Say "


def test_code_that_is_not_complete_is_not_cleaned() -> None:
    line = "[a](https://e.example/x)\n"
    stream = reading("```\n" + line * 3, flush_buffer_size_code_block=40)
    assert stream.actions.buffer.pending.text == line
    assert stream.actions.buffer.pending.fence == "```"
    assert look(stream).text == "```\n" + line * 3


@pytest.mark.parametrize("cut", CUTS)
def test_what_stands_was_said_and_the_rest_was_not(cut: str) -> None:
    stream, growing = grown(LINK, prefill="Sure: ")
    assert show(growing) == [SEEN]
    stream.chunk(TextChunk(" and more.\n\nLast <th"))
    cut_off(stream, growing, cut)
    growing.settle()
    text, suppressed, additions = books(stream)
    assert text == SEEN
    assert suppressed == {"clean.masked_link": 2, CUTS[cut]: len(" and more.\n\nLast <th")}
    assert additions == {"prefill": 6, "clean.masked_link": 3}
    assert stream.actions.outbox.waiting == 0


@pytest.mark.parametrize(
    ("shown", "text", "suppressed", "additions"),
    [
        (57, SEEN, {"clean.masked_link": 2}, {"prefill": 6, "clean.masked_link": 3}),
        (53, SEEN[:52], {"clean.masked_link": 2, "seam": 1, "killed": 4},
         {"prefill": 6, "clean.masked_link": 3}),
        (20, SEEN[:20], {"clean.masked_link": 2, "killed": 36},
         {"prefill": 6, "clean.masked_link": 2}),
        (8, SEEN[:8], {"killed": 48}, {"prefill": 6}),
        (3, "Sur", {"killed": 50}, {"prefill": 3}),
        (0, "", {"killed": 50}, {}),
    ],
)  # fmt: skip
def test_every_character_is_said_or_suppressed_wherever_the_cut_is(
    shown: int, text: str, suppressed: dict[str, int], additions: dict[str, int]
) -> None:
    stream, growing = grown(LINK, prefill="Sure: ")
    seen = look(stream)
    cut_off(stream, growing, "kill")
    stream.actions.outbox.settle(RenderedPrefix(seen, Portion(fit(seen.text[:shown])), shown))
    assert books(stream) == (text, suppressed, additions)


@pytest.mark.parametrize(
    ("shown", "suppressed"),
    [(4, {"clean.template": 10}), (3, {"killed": 11}), (0, {"killed": 14})],
)
def test_what_cleaning_drops_behind_the_last_character_goes_with_it(
    shown: int, suppressed: dict[str, int]
) -> None:
    stream, growing = grown("One.<|im_end|>")
    seen = look(stream)
    assert seen.text == "One."
    cut_off(stream, growing, "kill")
    stream.actions.outbox.settle(RenderedPrefix(seen, Portion(fit(seen.text[:shown])), shown))
    assert books(stream) == ("One."[:shown], suppressed, {})


def test_a_page_that_stands_alone_is_all_that_was_said() -> None:
    words = "word " * 40
    stream, growing = grown(words, max_message_length=100)
    growing.touch()
    (first,) = growing.take()
    answer(growing, 1)
    assert first.text == " ".join(["word"] * 20)
    cut_off(stream, growing, "kill")
    growing.settle()
    text, suppressed, _ = books(stream)
    assert text == first.text
    assert suppressed == {"killed": len(words) - len(first.text)}


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("cut", CUTS)
def test_a_call_that_is_out_at_the_end_is_said_only_if_it_arrives(cut: str, arrives: bool) -> None:
    stream, growing = grown("One")
    assert show(growing) == ["One"]
    stream.chunk(TextChunk(" two"))
    growing.touch()
    assert growing.take() == [PageEdit("One two", "edit", 1)]
    stream.chunk(TextChunk(" three"))
    growing.touch()
    cut_off(stream, growing, cut)
    answer(growing, 1 if arrives else None, kind="edit")
    growing.settle()
    unseen = {CUTS[cut]: 6} if arrives else {"undelivered": 4} if CUTS[cut] != "undelivered" else {}
    rest = {} if arrives else {CUTS[cut]: 6 if CUTS[cut] != "undelivered" else 10}
    assert books(stream) == ("One two" if arrives else "One", {**unseen, **rest}, {})


def test_a_call_that_was_taken_back_in_time_was_not_tried() -> None:
    stream, growing = grown("One")
    growing.touch()
    growing.take()
    cut_off(stream, growing, "kill")
    growing.on_receipt(Receipt(outcome="not_sent", channel_id=1, index=0, characters=3))
    growing.settle()
    assert books(stream) == ("", {"killed": 3}, {})


def test_a_kill_during_the_first_call_which_then_fails() -> None:
    stream, growing = grown("One")
    growing.touch()
    growing.take()
    cut_off(stream, growing, "kill")
    answer(growing, None)
    growing.settle()
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
    cut_off(stream, growing, "limit_reached")
    growing.settle()
    text, suppressed, _ = books(stream)
    assert text == " ".join(["word"] * 20)
    assert suppressed == {"limit": len(words) - len(text)}


def test_what_fitting_adds_is_booked_when_the_reply_is_cut_off() -> None:
    stream, growing = grown("```py\nx = 1\n")
    assert show(growing) == ["```py\nx = 1\n```"]
    cut_off(stream, growing, "kill")
    growing.settle()
    assert books(stream) == ("```py\nx = 1", {}, {"closer": 3})


@pytest.mark.parametrize("broken", [False, True])
def test_at_the_end_all_is_booked_as_it_stands(broken: bool) -> None:
    stream, growing = grown(LINK, prefill="Sure: ")
    show(growing)
    stream.chunk(TextChunk(" and more."))
    stream.end()
    growing.finish()
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


@pytest.mark.parametrize("cut", CUTS)
def test_what_turned_out_to_be_a_thought_was_not_said_and_is_removed(cut: str) -> None:
    stream, growing = grown("I wonder")
    assert show(growing) == ["I wonder"]
    stream.chunk(TextChunk("</think>Yes, it is."))
    cut_off(stream, growing, cut)
    assert growing.take() == [PageEdit("", "delete", 1)]
    answer(growing, 1, kind="delete")
    growing.settle()
    assert stream.actions.captures.texts("think") == ("I wonder",)
    assert books(stream) == ("", {"marker": 8, CUTS[cut]: 11}, {})


def test_a_page_that_is_on_its_way_and_turns_out_to_be_a_thought_is_removed() -> None:
    stream, growing = grown("I wonder")
    growing.touch()
    assert growing.take() == [PageEdit("I wonder")]
    stream.chunk(TextChunk("</think>Yes."))
    cut_off(stream, growing, "kill")
    assert not growing.waiting
    answer(growing, 7)
    assert growing.take() == [PageEdit("", "delete", 7)]
    answer(growing, 7, kind="delete")
    growing.settle()
    assert books(stream) == ("", {"marker": 8, "killed": 4}, {})


def test_what_took_the_place_of_a_thought_in_time_stays() -> None:
    stream, growing = grown("I wonder")
    assert show(growing) == ["I wonder"]
    stream.chunk(TextChunk("</think>Yes."))
    assert show(growing) == ["Yes."]
    cut_off(stream, growing, "kill")
    assert not growing.waiting
    growing.settle()
    assert books(stream) == ("Yes.", {"marker": 8}, {})


BLANK = {
    "a thought": ("I wonder", "</think>", {}),
    "a name": ("Ann", ": ", {"bot_name": "Ann"}),
    "marks": (">", " \n", {}),
}


@pytest.mark.parametrize("name", BLANK)
def test_a_page_whose_text_turns_out_blank_is_removed_at_the_end(name: str) -> None:
    first, then, settings = BLANK[name]
    stream, growing = grown(first, **settings)
    assert show(growing) == [first]
    stream.arrived(0)
    stream.chunk(TextChunk(then))
    growing.touch()
    assert growing.take() == []  # more may come
    stream.end()
    growing.finish()
    assert growing.take() == [PageEdit("", "delete", 1)]
    answer(growing, 1, kind="delete")
    stream.removed()
    assert not growing.waiting
    growing.settle()
    stream.flushed()
    result = stream.result()
    assert (result.status, result.accumulated_text) == ("empty_response", "")
    kept = sum(map(len, result.thought_log))
    assert sum(result.suppressed.values()) + kept == len(first + then)


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
