"""Masked links in finished messages: broken up wherever Discord would show one, and nowhere else."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import DroppedSpan, TextSpan, covers
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.fitting.masked import laid_open
from minamo.core.stream import Stream
from support.audit import run

LINK = "[x](https://x.test)"
BROKEN = "[x (https://x.test)"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (LINK, BROKEN),
        (f"a {LINK} b {LINK}", f"a {BROKEN} b {BROKEN}"),
        ("[a [b]](https://x)", "[a [b] (https://x)"),
        ("[a]b](https://x)", "[a]b (https://x)"),
        ("[a\n\nb](https://x)", "[a\n\nb (https://x)"),
        ("[a](\n <HTTP://x> )", "[a (\n <HTTP://x> )"),
        ("[a](https://x 'title')", "[a (https://x 'title')"),
        ("[a](https://x (b c))", "[a](https://x (b c))"),
        ("[a](https://x(b c))", "[a (https://x(b c))"),
        # More text may follow in a reply that grows.
        ("[a](https://x", "[a (https://x"),
        (r"[x\](https://x.test)", "[x\\ (https://x.test)"),
        (r"\\[x](https://x.test)", r"\\[x (https://x.test)"),
        ("[`a`](https://x)", "[`a` (https://x)"),
        # A label that begins before code may end in it, and what is behind may be a link then.
        ("[`a](https://x)`", "[`a (https://x)`"),
        ("[a] `b](https://x)`", "[a] `b (https://x)`"),
        ("[`a](https://x) ` [b](https://y) `", "[`a (https://x) ` [b (https://y) `"),
        ("see [a] and `[b](https://x)`", "see [a] and `[b](https://x)`"),
        ("**a ` b** [c](https://x) `", "**a ` b** [c (https://x) `"),
        ("https://a` [c](https://x) `", "https://a` [c (https://x) `"),
        ("- a ` b\n- [c](https://x) `", "- a ` b\n- [c (https://x) `"),
        ("[a](https://x`)`)", "[a (https://x`)`)"),
        # What is no link stays.
        ("a](https://x)", "a](https://x)"),
        (r"\[x](https://x.test)", r"\[x](https://x.test)"),
        ("[a] (https://x)", "[a] (https://x)"),
        ("[a](see below)", "[a](see below)"),
        ("[a](https://x y)", "[a](https://x y)"),
        ("[a](https://)", "[a (https://)"),
        # Code for Discord.
        (f"`{LINK}`", f"`{LINK}`"),
        (f"``` {LINK} ```", f"``` {LINK} ```"),
        (f"```\n{LINK}\n```", f"```\n{LINK}\n```"),
        (f"```py\n\n{LINK}\n```", f"```py\n\n{LINK}\n```"),
        (f"`\n```\n{LINK}\n```", f"`\n```\n{LINK}\n```"),
        (f"`` ` {LINK} ``", f"`` ` {LINK} ``"),
        (f"```` {LINK} ``", f"```` {LINK} ``"),
        (f"``py\n``` {LINK}```", f"``py\n``` {LINK}```"),
        # No code for Discord: a run of backticks without its like, and a block without content.
        (f"` {LINK} ``", f"` {BROKEN} ``"),
        (f"\\` {LINK} `", f"\\` {BROKEN} `"),
        (f"`\n```\n`{LINK}\n```", f"`\n```\n`{BROKEN}\n```"),
        (f"```\n```\n\n```\n{LINK}", f"```\n```\n\n```\n{BROKEN}"),
        (f"```\n```\n{LINK}", f"```\n```\n{BROKEN}"),
        (f"```py\n```\n{LINK}", f"```py\n```\n{BROKEN}"),
        (f"```py\n```\n{LINK}\n```", f"```py\n```\n{LINK}\n```"),
        (f"~~~\n{LINK}\n~~~", f"~~~\n{BROKEN}\n~~~"),
    ],
)
def test_p25_a_link_is_broken_up_unless_it_is_code_for_discord(message: str, shown: str) -> None:
    assert laid_open(message) == shown


def test_p25_links_that_uncover_others_are_all_broken_up() -> None:
    # Each attempt uncovers another link; the last breaks up whatever looks like one.
    text = (
        "[b](https://y) ```[``c](https://z)](https://x)[```d](https://w) ``](https://x)"
        "[a]](https://x)` `[e](https://v)`"
    )
    assert laid_open(text) == text.replace("](", " (")


@pytest.mark.parametrize(
    ("segments", "shown"),
    [
        (["[your " + "x" * 1_300, "\n\nbank](https://x.test) b"],
         "[your " + "x" * 1_300 + "\n\nbank (https://x.test) b"),
        (["[a]\n\n", "[b](https://x.test)"], "[a]\n\nb (<https://x.test>)"),
        (["`[` b\n\n", "c](https://x.test)"], "`[` b\n\nc](https://x.test)"),
        (["a `b\n\n", f"` {LINK} `"], "a `b\n\n` [x (https://x.test) `"),
    ],
)  # fmt: skip
def test_p25_no_masked_link_is_made_of_two_segments(segments: list[str], shown: str) -> None:
    stream = Stream(StreamConfig(humanize=False))
    for segment in segments:
        stream.chunk(TextChunk(segment))
    stream.end()
    # A lane that is behind takes all segments together.
    assert [message.text for message in stream.actions.outbox.take()] == [shown]


def test_p25_what_is_broken_up_is_accounted_for() -> None:
    text = f"a [b\n\n{LINK}c](https://y.test) d"
    fitted = fit(text)
    (message,) = fitted.messages
    assert message.text == "a [b\n\n[x (https://x.test)c (https://y.test) d"
    assert fitted.dropped == (
        DroppedSpan(8, 9, "clean.masked_link"),
        DroppedSpan(26, 27, "clean.masked_link"),
    )
    assert covers(text, message.pieces, fitted.dropped)
    added = [piece for piece in message.pieces if piece.start is None]
    assert added == [TextSpan(" ", None, "clean.masked_link")] * 2


def test_p25_a_repeated_header_has_no_masked_link() -> None:
    rows = "".join(f"| row {number} | text |\n" for number in range(20))
    fitted = fit(f"| {LINK} | b |\n|---|---|\n{rows}", limit=200, tables="bullets")
    assert len(fitted.messages) > 1
    assert not any("](" in message.text for message in fitted.messages)


def test_a_setting_lets_masked_links_stay() -> None:
    assert [message.text for message in fit(LINK, masked_links=True).messages] == [LINK]
    assert run([LINK], clean_off=["masked_link"]).messages == (LINK,)
