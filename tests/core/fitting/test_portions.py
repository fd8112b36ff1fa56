"""Long texts are fitted a portion at a time, and nothing of them is lost between two."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import covers
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import NOTHING, fit, fit_front, followed
from minamo.core.limits import AGGREGATE_MAX, FIT_MAX
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.edit_in_place import PageSet

PROSE = "".join(f"Sentence number {number} has **bold** words.\n\n" for number in range(900))
CODE = "```py\n" + "".join(f"line_{number} = {number}\n" for number in range(2_000)) + "```\nEnd."
SPOILER = "||" + "secret words " * 2_500 + "|| end"
ITALICS = "*" + "one long thought " * 1_500 + "* end"
BLANK = "a" + " \n" * 12_000 + "b"


@pytest.mark.parametrize("text", [PROSE, CODE, SPOILER, ITALICS, BLANK])
@pytest.mark.parametrize("room", [None, 1, 4])
def test_portions_hold_the_whole_text(text: str, room: int | None) -> None:
    made, at, steps = fit("", last=False), 0, 0
    while at < len(text):
        mid_line = at > 0 and text[at - 1] != "\n"
        front, end = fit_front(text[at:], room=room, carry=made.carry, mid_line=mid_line)
        assert room is None or len(front.messages) <= room
        made, at, steps = followed(made, front, at), at + end, steps + 1
    assert steps > 1 or text == BLANK
    assert made.carry == NOTHING
    assert covers(text, [p for message in made.messages for p in message.pieces], made.dropped)
    whole = fit(text)
    assert len(made.messages) <= 1.2 * len(whole.messages) + 1
    for message in made.messages:
        assert len(message.text) <= 1_950
        assert message.text.count("||") % 2 == 0
        assert message.text.count("```") % 2 == 0


def test_a_beginning_that_shows_nearly_nothing_is_taken_with_more() -> None:
    front, end = fit_front(BLANK, limit=100, room=1)
    assert [message.text for message in front.messages] == ["a"]
    assert end > FIT_MAX // 2


@pytest.mark.parametrize("text", ["\n" * 5 + "*" * 75, "*" * 3_595])
def test_no_message_is_made_of_closers_alone(text: str) -> None:
    fitted = fit(text, limit=100, last=False, ahead="*" * 50)
    for message in fitted.messages:
        assert any(piece.start is not None for piece in message.pieces), message.text


def test_a_text_that_is_hardly_visible_and_not_long_is_one_portion() -> None:
    text = "\n> " * 1_300
    front, end = fit_front(text, room=1)
    assert FIT_MAX > len(text) == end
    assert front.messages == ()


@pytest.mark.parametrize("text", ["*" * 20_000, "\n> " * 6_000, "\n```\n" * 4_000, " " * 20_000])
def test_a_portion_of_text_that_is_hardly_visible_ends_somewhere(text: str) -> None:
    made, at = fit("", last=False), 0
    while at < len(text):
        mid_line = at > 0 and text[at - 1] != "\n"
        front, end = fit_front(text[at:], carry=made.carry, mid_line=mid_line)
        assert end > 0
        made, at = followed(made, front, at), at + end
    assert covers(text, [p for message in made.messages for p in message.pieces], made.dropped)


@pytest.mark.parametrize("text", [PROSE, CODE])
def test_an_idle_lane_takes_a_long_segment_whole(text: str) -> None:
    text = text[: AGGREGATE_MAX - 100]
    stream = Stream(StreamConfig(degree=0, max_message_length=500))
    stream.chunk(TextChunk(text))
    stream.end()
    outbox = stream.actions.outbox
    first, messages = outbox.take(1), outbox.take_segment()
    assert 1 <= len(first) < 5 < len(messages)
    assert outbox.waiting == 0
    assert outbox.text == text.strip()
    shown = "".join(piece.text for one in (*first, *messages) for piece in one.pieces)
    assert len(shown) > len(text) - text.count("\n\n") * 2


def test_segments_are_fitted_together_as_far_as_that_is_done_at_once() -> None:
    stream = Stream(StreamConfig())
    stream.chunk(TextChunk(PROSE[: 3 * FIT_MAX]))
    outbox = stream.actions.outbox
    waited = outbox.waiting
    outbox.take()
    assert waited - FIT_MAX <= outbox.waiting < waited - FIT_MAX + 1_000


def stands(pages: PageSet, shown: list[str]) -> None:
    """Make every call that is due."""
    while pages.waiting and (due := pages.take()):
        (change,) = due
        if change.kind == "create":
            shown.append(change.text)
        else:
            shown[change.target - 1] = change.text
        number = change.target or len(shown)
        pages.on_receipt(
            Receipt(outcome="delivered", channel_id=1, index=0, characters=1, kind=change.kind,
                    message_id=number)
        )  # fmt: skip


def test_what_stands_on_earlier_pages_is_not_fitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def counted(text: str, **settings: object) -> object:
        sizes.append(min(len(text), FIT_MAX))
        return fit_front(text, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("minamo.shell.delivery.edit_in_place.fit_front", counted)
    pages, shown = PageSet(), list[str]()
    for end in range(2_000, len(PROSE), 2_000):
        pages.show(PROSE[:end])
        stands(pages, shown)
    edits = len(sizes)
    pages.show(PROSE)
    pages.finish()
    stands(pages, shown)
    assert len(sizes) <= edits + 2  # and not all of it once more
    assert "".join("".join(shown).split()) == "".join(PROSE.split())
    made, end = pages.reach or (None, 0)
    assert made is not None
    assert end == len(PROSE)
    assert covers(PROSE, [p for message in made.messages for p in message.pieces], made.dropped)


def test_a_long_text_that_comes_at_once_is_shown_page_by_page() -> None:
    pages, shown = PageSet(), list[str]()
    pages.show(PROSE)
    pages.finish(cut_off=True)
    stands(pages, shown)
    assert "".join("".join(shown).split()) == "".join(PROSE.split())
    pages.show("another text")
    assert pages.take()[0].text == "another text"


def test_a_spoiler_is_closed_while_a_reply_grows_and_opened_when_it_was_none() -> None:
    pages, shown = PageSet(), list[str]()
    pages.show("if a || b")
    stands(pages, shown)
    assert shown == ["if a || b||"]
    pages.finish()
    stands(pages, shown)
    assert shown == ["if a || b"]
