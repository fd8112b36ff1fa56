"""What is open at the end of a text is opened again in the next."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import DroppedSpan, TextSpan, covers
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.fitting.compose import LOOSE
from minamo.core.fitting.fences import Fence
from minamo.core.fitting.fit import NO_TEXT, NOTHING, OpenFormatting, Portion, fit, fit_front
from minamo.core.fitting.markdown import scan
from minamo.core.limits import AGGREGATE_MAX, FIT_MAX, FIT_SEGMENTS_MAX, MARKERS_MIN
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.edit_in_place import PageSet


def told(*texts: str, tables: str = "code", limit: int = 1950) -> list[list[str]]:
    """The messages of each text, the carry going from one to the next; all of it is known."""
    carry, messages = NOTHING, []
    for at, text in enumerate(texts):
        last = at == len(texts) - 1
        ahead = "".join(texts[at + 1 :])
        fitted = fit(text, carry=carry, last=last, ahead=ahead, tables=tables, limit=limit)
        pieces = [piece for message in fitted.messages for piece in message.pieces]
        assert covers(text, pieces, fitted.dropped)
        carry = fitted.carry
        messages.append([message.text for message in fitted.messages])
    assert carry == NOTHING
    return messages


@pytest.mark.parametrize("marker", ["||", "**", "__", "~~", "*", "_"])
def test_formatting_goes_on_in_the_next_text(marker: str) -> None:
    assert told(f"say {marker}one\n\n", f"two{marker} three") == [
        [f"say {marker}one{marker}"],
        [f"{marker}two{marker} three"],
    ]


def test_additions_of_a_carry_have_reasons() -> None:
    first = fit("||one", last=False)
    assert first.carry == OpenFormatting(("||",))
    assert first.messages[0].pieces == (TextSpan("||one", 0), TextSpan("||", None, "closer"))
    second = fit("two", carry=first.carry)
    assert second.messages[0].pieces == (
        TextSpan("||", None, "reopened"),
        TextSpan("two", 0),
        TextSpan("||", None, "closer"),
    )


def test_nested_formatting_goes_on() -> None:
    assert told("||a **b *c", "d* e** f|| g") == [["||a **b *c***||"], ["||***d* e** f|| g"]]


def test_what_was_reopened_is_closed_at_the_very_end() -> None:
    carry = fit("**a", last=False, ahead="b**").carry
    for last in (True, False):
        assert [message.text for message in fit("b", carry=carry, last=last).messages] == ["**b**"]


@pytest.mark.parametrize("marker", ["||", "**", "__", "~~", "*", "_"])
def test_what_no_text_closes_goes_on_as_it_was_opened(marker: str) -> None:
    fitted = fit("b", carry=OpenFormatting((marker,)), last=False)
    assert [message.text for message in fitted.messages] == [f"{marker}b{marker}"]
    assert fitted.carry.formatting == (marker,)


def test_what_is_not_known_to_be_closed_stays_as_written() -> None:
    assert told("**a", "b") == [["**a"], ["b"]]
    assert told("**a *b", "c* d") == [["**a *b*"], ["*c* d"]]
    assert told("**a", "b\n```\n**\n```\n c**")[0] == ["**a"]
    for marker in ("**", "__", "~~", "*", "_"):
        fitted = fit(f"say {marker}one", last=False)
        assert fitted.carry == LOOSE
        assert fitted.messages[0].text == f"say {marker}one"


def test_an_opener_at_the_end_of_a_text_opens_the_next() -> None:
    assert told("say **", "one** x") == [["say"], ["**one** x"]]
    assert told("say **_", "one_** x") == [["say"], ["**_one_** x"]]
    assert told("**", "one** x") == [[], ["**one** x"]]


def test_what_looks_literal_is_not_carried() -> None:
    assert fit("a List<int>", last=False).carry == OpenFormatting()
    for text in ("2 * 3", "snake_case", "a ** b", "5*3", "*a\n\nb", "`code"):
        fitted = fit(text, last=False)
        assert fitted.carry == LOOSE
        assert fitted.messages[0].text == text


def test_of_two_lone_markers_only_one_can_be_meant() -> None:
    assert told("*a *b", "c*") == [["*a *b*"], ["*c*"]]


def test_carried_italics_that_cannot_be_are_given_up() -> None:
    for carried, text in ((("*",), "two * three"), (("||", "**", "*"), "two * three|| x")):
        fitted = fit(text, carry=OpenFormatting(carried))
        assert fitted.messages[0].text == carried[0].strip("*") + text


def test_a_spoiler_opened_at_the_end_of_a_text_hides_the_next() -> None:
    fitted = fit("look: ||", last=False)
    assert [message.text for message in fitted.messages] == ["look:"]
    assert fitted.dropped == (DroppedSpan(5, 8, "blank"),)
    assert told("look: ||", "secret|| ok") == [["look:"], ["||secret|| ok"]]
    assert told("||", "secret|| ok") == [[], ["||secret|| ok"]]


def test_a_closer_that_closes_nothing_is_left_out() -> None:
    assert told("||secret", "|| and more") == [["||secret||"], ["and more"]]
    assert told("***a", "*** b") == [["***a***"], ["b"]]
    assert told("||secret", "\n|| and more") == [["||secret||"], ["and more"]]
    assert told("||secret", "||", "more") == [["||secret||"], [], ["more"]]
    assert told("||**a", "x** b||") == [["||**a**||"], ["||**x** b||"]]
    assert told("*a", "**b** c*") == [["*a*"], ["***b** c*"]]


def test_a_fence_goes_on_in_the_next_text() -> None:
    assert told("```py\nx = 1\n", "    y = 2\n```\nend") == [
        ["```py\nx = 1\n```"],
        ["```py\n    y = 2\n```\nend"],
    ]
    assert told("~~~~\na", "~~~\nb\n~~~~") == [["```\na\n```"], ["```\n~~~\nb\n```"]]
    assert fit("~~~~ py x\na", last=False).carry == OpenFormatting(fence=Fence("py", "~~~~"))
    assert told("```py\na", "b", "c") == [["```py\na\n```"], ["```py\nb\n```"], ["```py\nc\n```"]]


def test_a_fence_without_code_is_not_shown() -> None:
    assert told("so:\n```py\n", "x\n```") == [["so:"], ["```py\nx\n```"]]
    assert told("```py\nx\n", "```\nend") == [["```py\nx\n```"], ["end"]]
    assert told("```py\nx\n", "\n\n", "y") == [["```py\nx\n```"], [], ["```py\ny\n```"]]


def test_a_fence_in_a_spoiler_goes_on_as_both() -> None:
    assert told("||a\n```py\nx\n", "y\n```\nb||") == [
        ["||a\n```py\nx\n```||"],
        ["||```py\ny\n```\nb||"],
    ]


def test_a_quoted_line_goes_on_until_its_end() -> None:
    assert told("> one ", "two\nthree") == [["> one"], ["> two\nthree"]]
    assert told("> one\n", "two") == [["> one"], ["two"]]
    assert told("> one\ntwo ", "three") == [["> one\ntwo"], ["three"]]
    assert told("**> one\ntwo** a ", "three") == [["**> one\ntwo** a"], ["three"]]
    assert told("> one", "\ntwo") == [["> one"], ["two"]]
    assert told("> **one\n", "> two** x") == [["> **one**"], ["> **two** x"]]
    assert told("> **one\n\n", "> two** x") == [["> **one"], ["> two** x"]]
    assert told("> ||one", "\n", "\n", "two") == [["> ||one||"], [], [], ["two"]]
    assert told("a\n> ", "two\nthree") == [["a"], ["> two\nthree"]]
    assert told("> **a\n> ", "b** c") == [["> **a**"], ["> **b** c"]]
    assert told("> ", "two") == [[], ["> two"]]
    assert told("> a\n> \n", "> b") == [["> a"], ["> b"]]
    assert told("> a\n>  \n\n> ") == [["> a"]]
    assert told("a >", "b") == [["a >"], ["b"]]


def test_a_block_quote_goes_on_to_the_end() -> None:
    assert told(">>> one\n\n", "two\n\n", "three") == [[">>> one"], [">>> two"], [">>> three"]]


def test_blank_texts_change_nothing() -> None:
    assert told("**one", " \n ", "two**") == [["**one**"], [], ["**two**"]]


def test_a_closer_alone_leaves_the_other_formatting_open() -> None:
    assert told("**a ||b\n\n", "||", "c**") == [["**a ||b||**"], [], ["**c**"]]


def test_a_table_goes_on_with_its_header() -> None:
    head = "| Name | N |\n|---|---|\n"
    assert told(head + "| a | 1 |\n", "| longer | 2 |\n| c | 3 | 4 |\n\nend") == [
        ["```\nName | N\n-----+--\na    | 1\n```"],
        ["```\nName   | N\n-------+---+--\nlonger | 2\nc      | 3 | 4\n```\n\nend"],
    ]
    numbers = head.replace("|---|\n", "|--:|\n")
    assert told(numbers + "| a | 1 |\n", "| b | 23 |\n| c | 4 | 5 |")[1] == [
        "```\nName |  N\n-----+----+--\nb    | 23\nc    |  4 | 5\n```"
    ]
    assert told(head + "| a | 1 |\n", "| b | 2 |", tables="bullets") == [
        ["- **Name**: a\n  - **N**: 1"],
        ["- **Name**: b\n  - **N**: 2"],
    ]
    assert told(head + "| a | 1 |", "| b | 2 |", "| c | 3 |")[2] == [
        "```\nName | N\n-----+--\nc    | 3\n```"
    ]
    assert told(head + "| a | 1 |\n", "| b | 2 |", tables="raw")[1] == ["| b | 2 |"]
    assert told(head + "| a | 1 |\n", "\n| b | 2 |")[1] == ["| b | 2 |"]
    assert told(head + "| a | 1 |\n", "\n", "| b | 2 |")[2] == ["| b | 2 |"]
    assert told(head + "| a | 1 |\n", "no row")[1] == ["no row"]
    assert told(head + "| a | 1 |\n", "| X | Y |\n|-|-|\n| b | 2 |")[1] == [
        "```\nX | Y\n--+--\nb | 2\n```"
    ]


PROSE = "".join(f"Sentence number {number} has **bold** words.\n\n" for number in range(900))
CODE = "```py\n" + "".join(f"line_{number} = {number}\n" for number in range(2_000)) + "```\nEnd."
SPOILER = "||" + "secret words " * 2_500 + "|| end"
ITALICS = "*" + "one long thought " * 1_500 + "* end"
BLANK = "a" + " \n" * 12_000 + "b"
MARKERS = "".join(f"a{mark}*_" for mark in "*_~" * 1_500)


@pytest.mark.parametrize("text", [PROSE, CODE, SPOILER, ITALICS, BLANK, MARKERS])
@pytest.mark.parametrize("room", [None, 1, 4])
def test_portions_hold_the_whole_text(text: str, room: int | None) -> None:
    portion, at, steps = NO_TEXT, 0, 0
    while at < len(text):
        mid_line = at > 0 and text[at - 1] != "\n"
        front, end = fit_front(text[at:], room=room, carry=portion.fitted.carry, mid_line=mid_line)
        assert room is None or len(front.messages) <= room
        portion, at, steps = Portion(front, at, portion), at + end, steps + 1
    made = portion.whole
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
    portion, at = NO_TEXT, 0
    while at < len(text):
        mid_line = at > 0 and text[at - 1] != "\n"
        front, end = fit_front(text[at:], carry=portion.fitted.carry, mid_line=mid_line)
        assert end > 0
        portion, at = Portion(front, at, portion), at + end
    made = portion.whole
    assert covers(text, [p for message in made.messages for p in message.pieces], made.dropped)


@pytest.mark.parametrize(
    ("begun", "more", "first"),
    [
        ("- **all of it. " + "Words. " * 30, "the end**", 0),
        ("a `b " + "c " * 100, "`", 0),
        ("words " * 8 + "[" + "label " * 25, "](https://example.com)", 0),
        ("Words. " * 30, "Words.", 1),
        ("Words. " * 20, "Words.", 1),
        ("**Words.** " * 20, "Words.", 1),
        ("|a|b|\n|-|-|\n" + "|c|d|\n" * 40, "|e|f|\n", 1),
    ],
)
def test_a_first_message_is_settled_when_no_more_text_can_change_it(
    begun: str, more: str, first: int
) -> None:
    fitted, end = fit_front(begun, limit=100, grows=True)
    assert (end < len(begun)) is bool(first)
    if first:
        assert fitted.messages == fit(begun + more, limit=100).messages[:first]
        assert fit_front(begun, limit=100)[1] == len(begun)


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


def test_tiny_segments_are_fitted_together_up_to_a_number() -> None:
    stream = Stream(StreamConfig(degree=3))
    stream.chunk(TextChunk("a\n" * 3 * FIT_SEGMENTS_MAX))
    outbox = stream.actions.outbox
    waited = outbox.waiting
    messages = outbox.take()
    assert outbox.waiting == waited - 2 * FIT_SEGMENTS_MAX
    while outbox.waiting:
        messages += outbox.take()
    assert "".join(message.text for message in messages).count("a") == 3 * FIT_SEGMENTS_MAX - 1


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
    portion, end = pages.reach or (NO_TEXT, 0)
    assert end == len(PROSE)
    made = portion.whole
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


def freed(text: str, *, ahead: str = "", last: bool = True) -> list[str]:
    """The messages of *text*, of which an opener in an earlier text was left literal."""
    fitted = fit(text, carry=LOOSE, ahead=ahead, last=last)
    pieces = [piece for message in fitted.messages for piece in message.pieces]
    assert covers(text, pieces, fitted.dropped)
    return [message.text for message in fitted.messages]


def test_a_literal_opener_is_known_to_all_texts_after_it() -> None:
    carry = fit("a **b", last=False).carry
    assert carry == LOOSE
    for text in ("plain", "", "`code`", "||hidden||", "```\nx\n```"):
        carry = fit(text, carry=carry, last=False).carry
        assert carry.loose
    assert fit("the end", carry=carry) == fit("the end")
    refused = fit("*b c* d", carry=OpenFormatting(("**",)), last=False)
    assert refused.carry.loose


def test_an_end_without_its_beginning_takes_no_spoiler_marker() -> None:
    # Discord would read `~~ ||~~` as struck, and show what the spoiler hides.
    text = "a~~ ~~||b||~~ ||~~hidden~~|| c"
    assert freed(text) == ["a~~ ~~||b||\\~\\~ ||~~hidden~~|| c"]
    assert [message.text for message in fit(text).messages] == [text]
    assert freed("a* *||* hidden|| c") == ["a* \\*||* hidden|| c"]
    assert freed("~~**||** b~~ hidden|| c") == ["\\~\\~\\*\\*||** b~~ hidden|| c"]
    added = fit(text, carry=LOOSE).messages[0].pieces[1]
    assert added == TextSpan("\\", None, "escape")


def test_a_marker_that_hides_nothing_stays_in_its_emphasis() -> None:
    for text in ("*a || b* c", "||a|| *b || c* d", "*a ||b|| c* ||d||"):
        assert freed(text) == [text]
    assert freed("*a || b*", ahead=" c||", last=False) == ["\\*a || b*||"]


def test_blocks_around_a_freed_spoiler_stay_whole() -> None:
    text = "```py\nx ~~\n```\na~~ ||~~ hidden||\n```\ny ~~ ||\n```"
    assert freed(text) == [text.replace("~~ ||~~", "\\~\\~ ||~~")]


@pytest.mark.parametrize("count", range(1, 7))
def test_all_spoilers_of_a_text_are_freed(count: int) -> None:
    (shown,) = freed("a~~ ||~~ b|| " * count)
    assert not scan(shown).swallowed


def test_spoilers_that_others_uncover_are_freed_a_few_times() -> None:
    text = "a~~ ||~~ b|| *c || d* e|| " * 3
    (shown,) = freed(text)
    assert shown.replace("\\", "") == text.strip()
    assert len(scan(shown).swallowed) == 1 < len(scan(text).swallowed)


def test_no_spoiler_among_dense_markers_is_freed() -> None:
    dense = "*_~~" * MARKERS_MIN + " a~~ ||~~ b||"
    assert "\\" not in "".join(freed(dense))
