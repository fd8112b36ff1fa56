"""The index of closers against the patterns of the grammar it stands for.

The patterns walk the text each time they are tried, which is slow on long texts and obviously
right on short ones.  They are those of the markdown library that Discord's clients build on.
"""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from minamo.core.fitting.closers import Closers

STRONG = re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")
UNDERLINE = re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")
STAR = re.compile(r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)")
LOW_LINE = re.compile(r"_((?:__|\\[\s\S]|[^\\_])+?)_\b", re.ASCII)
STRIKE = re.compile(r"~~([\s\S]+?)~~(?!_)")
SPOILER = re.compile(r"\|\|([\s\S]+?)\|\|")
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
BLOCK = re.compile(r"```([\s\S]+?)```")

TEXT = st.text(st.sampled_from("**__~~||``\\\\ a.\n"), max_size=24)


def close(pattern: re.Pattern[str], text: str, at: int, high: int) -> int | None:
    """Where *pattern* finds the closer.  The text is cut off, as the grammar does it."""
    match = pattern.match(text[at:high])
    return at + match.end(match.lastindex or 0) if match else None


def unescaped(text: str, at: int) -> bool:
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


@settings(max_examples=300, deadline=None)
@given(text=TEXT, data=st.data())
def test_closers_are_where_the_grammar_finds_them(text: str, data: st.DataObject) -> None:
    closers = Closers(text)
    high = data.draw(st.integers(0, len(text)))
    for at in range(high):
        rest = text[at:high]
        if rest.startswith("**") and unescaped(text, at):
            assert closers.pair("*", at, high) == close(STRONG, text, at, high)
        if rest.startswith("__") and unescaped(text, at):
            assert closers.pair("_", at, high) == close(UNDERLINE, text, at, high)
        if rest.startswith("*") and unescaped(text, at):
            assert closers.single("*", at, high) == close(STAR, text, at, high)
        if rest.startswith("_") and unescaped(text, at):
            assert closers.single("_", at, high) == close(LOW_LINE, text, at, high)
        if rest.startswith("~~"):
            assert closers.strike(at, high) == close(STRIKE, text, at, high)
        if rest.startswith("||"):
            assert closers.spoiler(at, high) == close(SPOILER, text, at, high)
        if rest.startswith("```"):
            assert closers.block(at, high) == close(BLOCK, text, at, high)
        if rest.startswith("`"):
            match = CODE.match(rest)
            expected = (len(match[1]), at + match.end(2)) if match else None
            assert closers.code(at, high) == expected
