"""What is open at the end of a text is opened again in the next."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import DroppedSpan, TextSpan, covers
from minamo.core.fitting.fences import Fence
from minamo.core.fitting.fit import NOTHING, OpenFormatting, fit


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


def test_what_is_not_known_to_be_closed_stays_as_written() -> None:
    assert told("**a", "b") == [["**a"], ["b"]]
    assert told("**a *b", "c* d") == [["**a *b*"], ["*c* d"]]
    assert told("**a", "b\n```\n**\n```\n c**")[0] == ["**a"]
    for marker in ("**", "__", "~~", "*", "_"):
        fitted = fit(f"say {marker}one", last=False)
        assert fitted.carry == NOTHING
        assert fitted.messages[0].text == f"say {marker}one"


def test_an_opener_at_the_end_of_a_text_opens_the_next() -> None:
    assert told("say **", "one** x") == [["say"], ["**one** x"]]
    assert told("say **_", "one_** x") == [["say"], ["**_one_** x"]]
    assert told("**", "one** x") == [[], ["**one** x"]]


def test_what_looks_literal_is_not_carried() -> None:
    for text in ("2 * 3", "snake_case", "a ** b", "5*3", "*a\n\nb", "`code"):
        fitted = fit(text, last=False)
        assert fitted.carry == NOTHING
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
