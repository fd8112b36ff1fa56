"""Chunks before they are read: whole characters, one line end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from minamo.core.accounting.spans import Ledger
from minamo.core.lexing.intake import Intake, as_read


@pytest.mark.parametrize(
    ("text", "want", "dropped", "added"),
    [
        ("a\r\nb", "a\nb", 1, 0),
        ("a\rb\r", "a\nb\n", 2, 2),
        ("\r\r\n\n\r", "\n\n\n\n", 3, 2),
        ("a\nb", "a\nb", 0, 0),
    ],
)
def test_line_ends_are_made_one_however_they_are_cut(
    text: str, want: str, dropped: int, added: int
) -> None:
    assert as_read(text) == want
    assert as_read(text, line_ends=False) == text
    for cut in range(len(text) + 1):
        ledger = Ledger()
        intake = Intake(ledger)
        parts = [intake.feed(text[a:b]) for a, b in pairwise([0, cut, len(text)])]
        assert "".join(parts) + intake.pending == want
        assert "".join([*parts, intake.release()]) == want
        assert ledger.suppressed["clean.line_end"] == dropped
        assert ledger.additions["clean.line_end"] == added
        assert intake.pending == ""


def test_a_half_and_a_line_end_wait_together() -> None:
    intake = Intake(Ledger())
    assert intake.feed("a\r\ud83d") == "a"
    assert intake.pending == "\n\ufffd"
    assert intake.feed("\ude00") == "\n\U0001f600"
    assert intake.feed("\r\ud83d") == ""
    assert intake.release() == "\n\ufffd"
