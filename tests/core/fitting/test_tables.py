"""Tables become aligned code, or bullets, and nothing in a cell is lost."""

from __future__ import annotations

import time

import pytest

from minamo.core.accounting.spans import covers
from minamo.core.fitting.fit import fit


def said(text: str, limit: int = 1950, tables: str = "code") -> list[str]:
    fitted = fit(text, limit=limit, tables=tables)
    pieces = [piece for message in fitted.messages for piece in message.pieces]
    assert covers(text, pieces, fitted.dropped)
    return [message.text for message in fitted.messages]


TABLE = "| Name | Age |\n|:-----|----:|\n| Bob | 5 |\n| Ann-Marie | 41 |"


def test_a_table_is_aligned_in_a_code_block() -> None:
    assert said(f"before\n\n{TABLE}\n\nafter") == [
        "before\n\n```\nName      | Age\n----------+----\nBob       |   5\nAnn-Marie |  41\n```"
        "\n\nafter"
    ]


def test_a_column_goes_to_the_side_that_its_colons_ask_for() -> None:
    head = "| left | right | centre | as is |\n|:---|---:|:---:|---|\n"
    assert said(head + "| a | 1 | x | b |\n| cd | 23456 | wxyz | d |\n| | | | |\n| | 7 |") == [
        "```\nleft | right | centre | as is\n-----+-------+--------+------\n"
        "a    |     1 |   x    | b\ncd   | 23456 |  wxyz  | d\n     |       |        | \n"
        "     |     7\n```"
    ]
    assert said("| n |\n|-:|\n| 漢字 |\n| 5 |") == ["```\n   n\n----\n漢字\n   5\n```"]
    # A row may have more cells than there are sides.
    assert said("| n |\n|-:|\n| 10 | x |\n| 5 | yz |") == ["```\n n\n---+---\n10 | x\n 5 | yz\n```"]


def test_a_table_that_goes_on_in_another_message_keeps_its_sides() -> None:
    rows = "".join(f"| row {number} | {number * number} |\n" for number in range(300))
    messages = said("| Name | Value |\n|---|---:|\n" + rows)
    lines = [line for message in messages for line in message.splitlines() if "row" in line]
    assert len(lines) == 300
    assert {len(line) for line in lines} == {len("row 299 | Value")}


def test_reasons_of_a_table() -> None:
    fitted = fit(TABLE)
    assert {piece.reason for piece in fitted.messages[0].pieces} == {"", "table"}
    assert {drop.reason for drop in fitted.dropped} == {"clean.table"}
    bullets = fit(TABLE, tables="bullets")
    assert {drop.reason for drop in bullets.dropped} == {"clean.table"}


def test_an_empty_cell_adds_no_blanks_to_the_end_of_its_row() -> None:
    assert said("| a | bbbb |\n|---|--:|\n| x | |\n| y | 1 |") == [
        "```\na | bbbb\n--+-----\nx | \ny |    1\n```"
    ]


def test_wide_characters_take_two_columns() -> None:
    assert said("| a | b |\n|---|---|\n| 漢字 | 1 |\n| xyz | 🙂 |") == [
        "```\na    | b\n-----+---\n漢字 | 1\nxyz  | 🙂\n```"
    ]
    assert said("| a | b |\n|---|---|\n| \x01 | 1 |") == ["```\na | b\n--+--\n\x01 | 1\n```"]


def test_ragged_rows_and_escaped_pipes() -> None:
    assert said("a | b\n--|--\n1\\|2 | 3 | 4\n| |\n`x|` y") == [
        "```\na   | b\n----+-----+--\n1|2 | 3   | 4\n\n`x  | ` y\n```"
    ]
    assert said("| a | b |\n|---|---|\n| 1 | 2\\|") == ["```\na | b\n--+---\n1 | 2|\n```"]


def test_backticks_in_cells_do_not_end_the_block() -> None:
    assert said("| a |\n|---|\n| ```x``` |") == ["```\na\n-------\n``\u200b`x``\u200b`\n```"]


def test_a_long_table_has_its_header_in_each_message() -> None:
    rows = "".join(f"| row {number} | {number * number} |\n" for number in range(300))
    messages = said("| Name | Value |\n|---|---|\n" + rows)
    assert len(messages) == 3
    header = "```\nName    | Value\n--------+------\nrow "
    assert all(message.startswith(header) and message.endswith("\n```") for message in messages)
    fitted = fit("| Name | Value |\n|---|---|\n" + rows)
    assert [piece.reason for piece in fitted.messages[1].pieces[:2]] == ["reopened", "header"]


def test_a_header_too_long_to_repeat_is_not_repeated() -> None:
    rows = "".join(f"| row {number} | x |\n" for number in range(30))
    messages = said("| " + "h" * 50 + " | b |\n|---|---|\n" + rows, 150)
    assert messages[0].startswith("```\nhhh")
    assert messages[1].startswith("```\nrow ")


def test_a_wide_table_becomes_bullets() -> None:
    wide = "w" * 70
    assert said(f"| Name | Text |\n|---|---|\n| a | {wide} |\n| b | |\n| | |") == [
        f"- **Name**: a\n  - **Text**: {wide}\n- **Name**: b"
    ]


def test_bullets() -> None:
    assert said("x\n" + TABLE + "\ny", tables="bullets") == [
        "x\n- **Name**: Bob\n  - **Age**: 5\n- **Name**: Ann-Marie\n  - **Age**: 41\ny"
    ]
    assert said("| **N** | |\n|-|-|\n| a | b | c\\|d |", tables="bullets") == [
        "- **N**: a\n  - b\n  - c|d"
    ]


def test_a_row_longer_than_a_message_wraps() -> None:
    messages = said("| N | T |\n|---|---|\n| a | " + "word " * 60 + "|", 100)
    assert messages[0].startswith("- **N**: a\n  - **T**: word")
    assert all(len(message) <= 100 for message in messages)


def test_a_table_of_a_header_alone() -> None:
    assert said("| a | b |\n|---|---|") == ["```\na | b\n--+--\n```"]
    assert said("| a | b |\n|---|---|\n\nx") == ["```\na | b\n--+--\n```\n\nx"]
    assert said("| a | b |\n|---|---|\nx", tables="bullets") == ["- a\n  - b\nx"]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n| c | d |",
        "| a | b |\n|---|\n| c | d |",
        "a\n|---|\nb",
        "|---|---|\n| a | b |",
        "    | a | b |\n|---|---|",
        "> | a | b |\n|---|---|",
        "```\n| a | b |\n|---|---|\n```",
        "a\n---\nb | c",
        "\n|-|",
    ],
)
def test_what_is_no_table_is_left_alone(text: str) -> None:
    assert said(text) == [text.strip()]


def test_raw_tables_are_left_alone() -> None:
    assert said(TABLE, tables="raw") == [TABLE]


def test_a_header_goes_with_its_first_row() -> None:
    head = f"{'h' * 19} | b\n--------------------+--\n"
    first, second = f"{'r' * 14}      | d\n", f"{'s' * 12}        | d\n"
    table = f"| {'h' * 19} | b |\n|---|---|\n| {'r' * 14} | d |\n| {'s' * 12} | d |\n"
    assert said(table, 100) == [f"```\n{head}{first}```", f"```\n{second}```"]


def test_a_header_is_not_left_behind() -> None:
    for size in range(60, 100):
        for message in said("x" * size + "\n\n" + TABLE, 100):
            assert message.count("Name") == message.count("Bob")


def test_blanks_around_rows_and_a_cut_between_cells() -> None:
    assert said("  | a | b |  \n |-|-|\n   | 1 | 2 |  \n") == ["```\na | b\n--+--\n1 | 2\n```"]
    row = f"| {'x' * 70} | {'y' * 60} |"
    assert said(f"| a | b |\n|---|---|\n{row}", 100) == [
        "- **a**: " + "x" * 70,
        "- **b**: " + "y" * 60,
    ]


def test_a_table_ends_at_another_block() -> None:
    head = "| a |\n|---|\n| 1 |\n"
    assert said(head + "> x | y") == ["```\na\n-\n1\n```\n> x | y"]
    assert said(head + "```\nx | y\n```") == ["```\na\n-\n1\n```\n```\nx | y\n```"]
    assert said(head + "prose below") == ["```\na\n-\n1\n```\nprose below"]


def test_tables_with_crlf() -> None:
    assert said(TABLE.replace("\n", "\r\n")) == [
        "```\nName      | Age\n----------+----\nBob       |   5\r\nAnn-Marie |  41\n```"
    ]


def test_tables_and_fences_in_turn() -> None:
    fence = "```py\n| x | y |\n|---|---|\n```"
    drawn = said(TABLE)[0]
    assert said(f"{TABLE}\n\n{fence}\n\n{TABLE}\n\n{fence}\n\n{TABLE}") == [
        f"{drawn}\n\n{fence}\n\n{drawn}\n\n{fence}\n\n{drawn}"
    ]


def test_a_long_header_is_said_once() -> None:
    head = "long " * 30
    rows = "".join(f"| a | {number} |\n" for number in range(500))
    fitted = fit(f"| {head}| N |\n|---|---|\n{rows}", tables="bullets")
    shown = "".join(message.text for message in fitted.messages)
    assert shown.count(head.strip()) == 1
    assert shown.count("**N**: ") == 500


def test_padding_and_labels_stay_in_proportion() -> None:
    """A column of letters below a long header is neither padded nor labelled in every row."""
    narrow = f"| {'x' * 58} | b |\n|---|---|\n" + "a|b\n" * 900
    assert sum(map(len, said(narrow))) < 4 * len(narrow)
    assert said(narrow)[0].count("**b**") == 1
    few = f"| {'x' * 58} | b |\n|---|---|\n" + "a|b\n" * 20
    assert said(few)[0].startswith("```\n")
    labelled = said(few.replace("x" * 58, "x" * 64))
    assert labelled[0].count("**b**: b") == 20


def test_a_line_of_blanks_before_a_pipe_is_read_once() -> None:
    text = "- " + "\t" * 3_000 + "|-x"
    begin = time.process_time()
    assert "".join(said(text)).endswith("|-x")
    assert time.process_time() - begin < 0.1  # over a second when blanks are divided in all ways


def test_a_text_may_begin_with_an_escaped_pipe() -> None:
    (message,) = fit("\\| a | b\n|---|---|\n| 1 | 2 |").messages
    assert message.text == "```\n| a | b\n----+--\n1   | 2\n```"
