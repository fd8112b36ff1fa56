"""Golden cases for `fit`: what it makes of a text, exactly."""

from __future__ import annotations

import math
import re

import pytest

from minamo.core.accounting.spans import DroppedSpan, TextSpan, covers
from minamo.core.fitting.fit import Fitted, fit

SENTENCE = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. "


def said(text: str, limit: int = 1950, **options: object) -> list[str]:
    """The messages for *text*, after the checks that hold for every text."""
    return shown(text, fit(text, limit=limit, **options), limit)  # type: ignore[arg-type]


def shown(text: str, fitted: Fitted, limit: int = 1950) -> list[str]:
    pieces = [piece for message in fitted.messages for piece in message.pieces]
    assert covers(text, pieces, fitted.dropped)
    for message in fitted.messages:
        assert 1 <= len(message.text) <= limit
        assert len(message.text.encode("utf-16-le", "surrogatepass")) <= 4000
        assert message.text == message.text.strip()
    return [message.text for message in fitted.messages]


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "<b>bold</b>",
        "Note: x",
        "x < y",
        "List<int>",
        "5' 10\" tall",
        "a **b** *c* __d__ ~~e~~ ||f|| `g` ``h`i`` _j_",
        "```py\nx = 1\n```",
        "```\n\n  x\n\n```\ntext",
        "> quote\n> more\n\n>>> all the rest\nand this",
        "a ```mid``` line",
        "\\*not\\* \\|\\|this\\|\\|",
        "2 ** 3 and a_b_c and 2 * 3 * 4",
        "unclosed **bold and *italics and `code",
        "| no | separator |\n| so | no table |",
        "¯\\_(ツ)_/¯",
        "\ud83d lone",
        "a\r\nb\rc",
        "||",
        "a ||",
        "x" * 1950,
        "||" + "x" * 1946 + "||",
    ],
)
def test_what_fits_is_left_alone(text: str) -> None:
    fitted = fit(text)
    assert [message.pieces for message in fitted.messages] == [(TextSpan(text, 0),)]
    assert fitted.dropped == ()


def test_whitespace_around_a_message_is_a_seam() -> None:
    fitted = fit(" \n hello \n")
    assert fitted.messages[0].text == "hello"
    assert fitted.dropped == (DroppedSpan(0, 3, "seam"), DroppedSpan(8, 10, "seam"))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u2028"])
def test_blank_text_is_no_message(text: str) -> None:
    fitted = fit(text)
    assert fitted.messages == ()
    assert fitted.dropped == ((DroppedSpan(0, len(text), "blank"),) if text else ())


@pytest.mark.parametrize("text", ["\u200b", "\x00\x00", "\ufeff \u2060", "> \u200b", "|| ||"])
def test_text_with_nothing_to_see_is_no_message(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("limit", [99, 2001, 0, -1])
def test_a_limit_must_make_sense(limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        fit("x", limit=limit)


def test_a_table_style_must_be_known() -> None:
    with pytest.raises(ValueError, match="tables"):
        fit("x", tables="html")


# --- where to cut -----------------------------------------------------------------------------


def test_cuts_prefer_paragraphs_then_lines_then_sentences_then_blanks() -> None:
    words = "word " * 10
    assert said(f"{words}\n\n{words}\n{words}", 100)[0] == words.strip()
    assert said(f"{words}\n\nshort\n{words}", 100)[0] == words.strip()
    assert said(f"{words}\n{words}{words}", 120)[0] == words.strip()
    assert said(f"{words}\nEnd. {words}", 100)[0] == words.strip()
    assert said(f"{words}end. {words}{words}", 120)[0] == f"{words}end."
    assert said(f"{words}(end.)” {words}{words}", 120)[0] == f"{words}(end.)”"
    assert said("word " * 30, 100)[0] == "word " * 19 + "word"
    assert said("漢字" * 30 + "。" + "漢" * 60, 100)[0] == "漢字" * 30 + "。"


def test_a_nicer_cut_never_costs_a_message() -> None:
    assert said("x\n\n" + "y" * 199, 100) == ["x", "y" * 100, "y" * 99]
    assert said("x\n\n" + "y" * 197, 100) == ["x\n\n" + "y" * 97, "y" * 100]
    assert said("x\n\n" + "y" * 100, 100) == ["x", "y" * 100]
    # What is reopened and closed counts.
    assert said("||x\n\n" + "y" * 96 + "||", 100) == ["||x||", "||" + "y" * 96 + "||"]
    assert said("||x\n\n" + "y" * 97 + "||", 100) == [
        "||x\n\n" + "y" * 93 + "||", "||yyyy||",
    ]  # fmt: skip


def test_an_indented_line_is_kept_with_the_one_above() -> None:
    item = "- item " + "x" * 20 + "\n  - inner " + "y" * 20 + "\n"
    assert all(text.startswith("- item") for text in said(item * 6, 125))


def test_a_cut_makes_no_quote_heading_or_list() -> None:
    for starter in ("> ", ">>> ", "# ", "-# ", "- ", "* ", "1. "):
        text = "word " * 18 + "wordy " + starter + "rest " * 10
        assert not said(text, 100)[1].startswith(starter)
    forced = said("x " + "- " * 200, 100)
    assert any(message.startswith("\u200b- ") for message in forced)
    assert not any(message.startswith("- ") for message in forced)


def test_whitespace_longer_than_a_message_is_a_seam() -> None:
    text = "a" * 130 + "\n" * 200 + "a" * 1000
    assert said(text, 100) == ["a" * 100, "a" * 30, *["a" * 100] * 10]


def test_a_long_word_is_cut_anywhere() -> None:
    assert said("a" * 5000) == ["a" * 1950, "a" * 1950, "a" * 1100]


def test_emoji_count_twice() -> None:
    assert [len(text) for text in said("🙂" * 1500)] == [1000, 500]
    assert [len(text) for text in said("**" + "🙂" * 1500 + "**")] == [1002, 506]


@pytest.mark.parametrize(
    "token",
    [
        "<@123456789012345678>",
        "<@!123456789012345678>",
        "<@&123456789012345678>",
        "<#123456789012345678>",
        "<:wave:123456789012345678>",
        "<a:wave:123456789012345678>",
        "<t:1700000000:R>",
        "<t:1700000000>",
        "</play song:123456789012345678>",
        "<id:customize>",
        "<https://example.com/a_b_c>",
        "https://example.com/a_b_c?d=e-f-g",
        "[a label](https://example.com/a_(b)_c)",
        '[a label](<https://example.com> "a title")',
        "👩\u200d👩\u200d👧\u200d👧" * 1,
        "e\u0301\u0302\u0303",
        "\\*",
        "¯\\_(ツ)_/¯",
    ],
)
def test_tokens_are_never_cut(token: str) -> None:
    for offset in range(80, 101):
        messages = said("x" * offset + token + "y" * 60, 100, masked_links=True)
        assert sum(message.count(token) for message in messages) == 1


def test_tokens_that_touch_are_cut_between_them() -> None:
    token = "<:ripple:123456789012345678>"
    messages = said(token * 50, limit=300)
    assert "".join(messages) == token * 50
    assert all(len(text) % len(token) == 0 for text in messages)


def test_a_token_longer_than_a_message_is_cut() -> None:
    url = "https://example.com/" + "a" * 2500
    assert said(f"see {url} ok") == [("see " + url)[:1950], ("see " + url)[1950:] + " ok"]
    assert "".join(said(f"[x]({url})", masked_links=True)) == f"[x]({url})"
    assert [len(text) for text in said("e" + "\u0301" * 5000)] == [1950, 1950, 1101]


@pytest.mark.parametrize("marker", ["||", "**", "__", "~~"])
@pytest.mark.parametrize("blanks", [" ", "  "])
def test_a_closer_stays_with_the_word_before_it(marker: str, blanks: str) -> None:
    words = "word " * 19
    assert said(f"{marker}{words}word{blanks}{marker} and more", 103) == [
        f"{marker}{words.strip()}{marker}",
        f"{marker}word{blanks}{marker} and more",
    ]


def test_a_closer_leaves_one_character_of_a_long_word_with_it() -> None:
    assert said("**" + "x" * 97 + "\n** and more", 100) == [
        "**" + "x" * 96 + "**", "**x\n** and more",
    ]  # fmt: skip


def test_a_break_between_a_marker_and_a_closer_has_room() -> None:
    words = "word " * 6 + "x"
    assert said("**" + "a" * 94 + f"* {words}**", 100) == [
        "**" + "a" * 94 + "*\u200b**", f"**{words}**",
    ]  # fmt: skip
    assert "".join(said("**" + "a" * 95 + f"* {words}**", 100)).count("a") == 95


def test_inline_code_that_fits_is_not_cut() -> None:
    prose, code = "word " * 11, "`" + "word " * 9 + "x`"
    assert said(prose + code, 100) == [prose.strip(), code]
    assert said("a" * 10 + code + "b" * 90, 100) == ["a" * 10 + code, "b" * 90]


def test_markers_are_not_torn() -> None:
    for offset in range(80, 100):
        for marker in ("||", "**", "__", "~~", "``"):
            text = "x" * offset + " " + marker + "word " * 10 + "z" + marker + " end"
            for message in said(text, 100):
                assert message.count(marker) in (0, 2)


# --- formatting across cuts ---------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["||", "**", "__", "~~", "*", "_", "`", "``"])
def test_formatting_is_closed_and_reopened(marker: str) -> None:
    body = ("word " * 60).strip()
    messages = said(f"{marker}{body}{marker}", 100)
    assert len(messages) == 4
    assert all(text.startswith(marker) and text.endswith(marker) for text in messages)
    assert " ".join(text.removeprefix(marker).removesuffix(marker) for text in messages) == body


def test_additions_have_reasons() -> None:
    fitted = fit("||" + "word " * 30 + "x||", limit=100)
    first, second = fitted.messages
    assert first.pieces[-1] == TextSpan("||", None, "closer")
    assert second.pieces[0] == TextSpan("||", None, "reopened")


def test_nested_formatting_is_closed_inside_out() -> None:
    first, second = said("||**_" + "word " * 20 + "x_** y||", 100)
    assert first.startswith("||**_word")
    assert first.endswith("word_**||")
    assert second == "||**_word word x_** y||"


def test_formatting_that_is_never_closed_is_not_closed_at_cuts() -> None:
    assert said("a **b " + "word " * 30, 100)[0].endswith(" word")


def test_ten_thousand_characters_under_spoiler_bold_and_fence() -> None:
    code = "".join(f"    line_{number} = {number}\n" for number in range(200))
    text = "||**" + SENTENCE * 80 + "**\n```py\n" + code + "```\n" + SENTENCE * 30 + "end||"
    messages = said(text)
    assert all(message.startswith("||") and message.endswith("||") for message in messages)
    assert all(message.count("```") % 2 == 0 for message in messages)
    assert all(message.count("**") % 2 == 0 for message in messages)
    assert len(messages) == math.ceil(len(text) / 1940)
    fences = [m for message in messages for m in re.findall(r"```py\n(.*?)```", message, re.DOTALL)]
    assert "".join(fences) == code


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("see ||secret", "see ||secret||"),
        ("see ||secret |", "see ||secret |\u200b||"),
        ("see **bold ||secret", "see **bold ||secret||"),
        ("> ||secret", "> ||secret||"),
        ("`a ||` b", "`a ||` b"),
        ("so: ||", "so: ||"),
    ],
)
def test_only_an_open_spoiler_is_closed_and_only_if_the_reply_was_cut_off(
    text: str, closed: str
) -> None:
    assert said(text) == [text]
    assert [message.text for message in fit(text, cut_off=True).messages] == [closed]


def test_an_opener_right_before_a_cut_moves_to_the_next_message() -> None:
    assert said("x ||" + " " * 5000 + "secret||") == ["x", "||secret||"]
    assert said("||secret" + " " * 5000 + "|| x") == ["||secret||", "x"]


def test_a_spoiler_is_given_up_last() -> None:
    code = "l" * 32 + "\n" + "x\n" * 100
    for message in said(f"**__~~||\n```{code}```\n||~~__**", 100):
        assert message.startswith(("**__~~||", "**||", "||"))


def test_runs_of_markers_end_somewhere() -> None:
    for marker in "*_~|`":
        text = marker * 3000
        assert len(said("x" + text, 100)) < 60


def test_deep_nesting_is_given_up_from_the_inside() -> None:
    text = "".join(f"**__~~||*_`{n}" for n in range(100)) + "x" * 300
    said(text, 100)
    nested = "||**__\n```" + "l" * 32 + "\n" + "x\n" * 100 + "```\n__**||"
    assert said(nested, 100)[2].startswith("||**```" + "l" * 32 + "\nx\n")
    deep = "> ||**__~~*_" + "word " * 60 + "_*~~__**||"
    assert said(deep, 100)[1].startswith("> ||**__~~*_word")


# --- quotes ---------------------------------------------------------------------------------------


def test_a_cut_in_a_quote_reopens_it() -> None:
    for mark in ("> ", ">>> "):
        first, second = said("a\n" + mark + "word " * 25 + "end", 100)
        assert first.startswith("a\n" + mark)
        assert second.startswith(mark + "word")


def test_the_mark_of_a_quoted_line_is_used_not_doubled() -> None:
    line = "> " + "word " * 9 + "end\n"
    assert said(line * 4, 101) == [(line * 2).strip()] * 2
    first, second = said("> **" + "word " * 9 + "\n> " + "more " * 15 + "** x", 100)
    assert first.endswith("word**")
    assert second.startswith("> **more")


def test_a_quote_ends_with_its_line() -> None:
    text = "> " + "word " * 15 + "end\n\n" + "after " * 15
    assert said(text, 100) == [text.split("\n")[0], ("after " * 15).strip()]


def test_code_in_a_quote_is_closed_in_the_quote() -> None:
    lines = "> some code here\n" * 12
    messages = said(f"> ```py\n{lines}> ```\nafter", 100)
    assert messages[0].startswith("> ```py\n> some")
    assert messages[0].endswith("> some code here```")
    assert messages[1].startswith("> ```py\n> some")
    # It is not cut right behind the mark of its first line; one character is kept for a break.
    assert said(f"> {'w' * 89}``` \n> {'b' * 101}```", 100) == [
        f"> {'w' * 89}", f"> ``` \n> {'b' * 87}```", f"> ```\n> {'b' * 14}```",
    ]  # fmt: skip
    long = said("> ```py\n> " + "x" * 200 + "\n> ```", 100)
    assert long[1].startswith("> ```py\n> xxx")


def test_a_block_quote_swallows_other_quotes() -> None:
    first, second = said(">>> " + "word " * 18 + "\n> " + "more " * 18, 100)
    assert first.startswith(">>> word")
    assert second.startswith(">>> > more")


def test_quotes_in_formatting_are_quotes() -> None:
    messages = said("**> " + "word " * 30 + "x**", 100)
    assert messages[1].startswith("**> word")


# --- code -----------------------------------------------------------------------------------------


def test_a_fence_is_closed_and_reopened_with_its_language() -> None:
    code = "".join(f"    line_{number} = compute({number})\n" for number in range(600))
    messages = said(f"```python\n{code}```")
    assert all(m.startswith("```python\n    line_") and m.endswith(")\n```") for m in messages)
    assert "".join(m.removeprefix("```python\n").removesuffix("```") for m in messages) == code


def test_a_fence_of_17000_characters_takes_about_as_many_messages_as_it_must() -> None:
    code = "x" * 99 + "\n"
    assert len(said("```py\n" + code * 170 + "```")) == math.ceil(17_000 / 1900)


def test_a_code_line_is_cut_only_when_it_alone_does_not_fit() -> None:
    code = "a" * 5000
    messages = said(f"```js\n{code}\n```")
    assert [len(message) for message in messages] == [1950, 1950, 1130]
    assert all(m.startswith("```js\na") and m.endswith("a\n```") for m in messages)
    assert said(f"```\n{'a' * 10}\n{'b' * 180}\n```", 100) == [
        f"```\n{'a' * 10}\n```", f"```\n{'b' * 92}\n```", f"```\n{'b' * 88}\n```",
    ]  # fmt: skip
    exact = "y" * (100 - 4 - 4)
    # The end of a line serves the closer, too.
    lines = f"{'y' * 60}\n{'z' * 31}\n"
    assert said(f"```\n{lines}{'y' * 62}\n```", 100) == [
        f"```\n{lines}```", f"```\n{'y' * 62}\n```",
    ]  # fmt: skip
    assert said(f"```\n{exact}\n{exact}\n```", 100) == [f"```\n{exact}\n```"] * 2


def test_a_fence_that_fits_is_not_cut_if_that_costs_nothing() -> None:
    code = "```py\n" + "x = 1\n" * 12 + "```"
    assert said("word " * 12 + "\n\n" + code, 100) == [("word " * 12).strip(), code]


def test_blank_lines_in_code_are_kept() -> None:
    code = ("a\n\n\n" + "b" * 20 + "\n\n") * 6
    messages = said(f"```\n{code}```", 100)
    assert "".join(m.removeprefix("```\n").removesuffix("```") for m in messages) == code


def test_long_and_tilde_fences_become_three_backticks() -> None:
    assert said("~~~py\nx\n~~~") == ["```py\nx\n```"]
    fitted = fit("~~~\nx\n~~~")
    assert fitted.messages[0].pieces[0] == TextSpan("```", None, "fence")
    assert {drop.reason for drop in fitted.dropped} == {"clean.fence"}
    assert said("````md\n```py\nx\n```\n`````\nend") == [
        "```md\n``\u200b`py\nx\n``\u200b`\n```\nend"
    ]
    assert said("~~~`a\nx\n~~~")
    assert said("`````\n````\n`````") == ["```\n``\u200b``\n```"]


def test_a_language_discord_does_not_know_stays_in_sight() -> None:
    assert said("```{r}\nx\n```") == ["```{r}\nx\n```"]
    assert said("```  js title=x\nx\n```") == ["```js\nx\n```"]
    assert said("```c++\n" + "x\n" * 60 + "```", 100)[1].startswith("```c++\nx")
    assert said("```{no language}\n```") == ["```{no language}\n```"]
    # Discord hides a word of any length in front of the line end.
    assert said("```" + "x" * 33 + "\ny\n```") == ["```\n" + "x" * 33 + "\ny\n```"]


def test_a_first_line_that_is_too_long_for_a_language_is_code() -> None:
    line = "word " * 1_000
    first, second, third = said("```" + line + "\n[a](b)\n```")
    assert first.startswith("```word word")
    assert first.endswith("\n```")
    assert second.startswith("```\n")
    assert second.endswith("\n```")
    assert third.endswith("word \n[a](b)\n```")
    assert "".join((first[3:-4], second[4:-4], third[4:])) == line + "\n[a](b)\n```"
    assert said("```js " + "w" * 96 + "\nx\n```") == ["```js\nx\n```"]
    assert said("```js " + "w" * 98 + "\nx\n```") == ["```js " + "w" * 98 + "\nx\n```"]


def test_a_first_line_without_its_end_is_not_lost() -> None:
    fitted = fit("```{no language}", last=False)
    assert [message.text for message in fitted.messages] == ["```{no language}\n```"]
    assert said("!\n```", carry=fitted.carry) == ["```\n!\n```"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```py\nx", "```py\nx\n```"),
        ("```py\nx\n", "```py\nx\n```"),
        ("```\n~~~\nx", "```\n~~~\nx\n```"),
        ("````\nx\n```", "```\nx\n``\u200b`\n```"),
        ("~~~\nx\n~~~ not yet\n~~~", "```\nx\n~~~ not yet\n```"),
        ("a\n   ```\nx\n   ```", "a\n   ```\nx\n   ```"),
        (" \n  ~~~\nx\n  ~~~", "```\nx\n  ```"),
        ("    ~~~\nx", "~~~\nx"),
        ("text\n```py", "text\n```py"),
        ("```py\n\n", "```py"),
    ],
)
def test_fences_open_and_close_as_commonmark_says(text: str, expected: str) -> None:
    assert said(text) == [expected]


def test_line_ends_of_every_kind_end_lines() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = end.join(["a", "~~~py", "x", "~~~", "b"])
        assert said(text) == [end.join(["a", "```py", "x", "```", "b"])]
    code = "".join(f"line {number}\r\n" for number in range(40))
    messages = said(f"```py\r\n{code}```", 100)
    assert all(m.startswith("```py") and m.endswith("\r\n```") for m in messages)


def test_code_blocks_that_commonmark_does_not_know_are_code_to_discord() -> None:
    messages = said("    ```py\n" + "    code()\n" * 15 + "    ```", 100)
    assert messages[1].startswith("```py\n    code()")
    messages = said("so ```a " + "word " * 30 + "``` it is", 100)
    assert messages[0].endswith("\n```")
    assert messages[1].startswith("```\n")
    assert said("```a`\n```\n```\n```\n" + "x" * 90, 100)
    block = "word " * 6 + "```" + "word " * 12 + "```"
    assert said(f"{block} word", 100) == [block, "word"]
    # A marker in the code opens nothing behind it.
    assert said("```a **``` " + "word " * 18 + "b** end", 100) == [
        ("```a **``` " + "word " * 18).strip(), "b** end",
    ]  # fmt: skip
    assert said("x ```\n\n``` y") == ["x ```\n\n``` y"]
    assert said("alpha\n```alpha`\n```\n```\n```\n") == ["alpha\n```alpha`\n```\n```\n```"]
