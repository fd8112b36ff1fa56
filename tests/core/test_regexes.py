"""No regular expression that reads text of users or models takes more than linear time."""

from __future__ import annotations

import re

import pytest

from support.regexes import Pattern, patterns

SIZE = 1_200
FLOOR_S = 0.002

PATTERNS = patterns("minamo.core", "minamo.wire", "minamo.shell", "minamo.bot", "minamo.inspect")


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_p07_a_regular_expression_is_linear(pattern: Pattern) -> None:
    assert pattern.is_linear(SIZE, FLOOR_S), pattern.slowest(SIZE)


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (r" *(?:(>>>|>)[ \t])?\s*", "fullmatch"),
        (r"\s*\s*\s*:", "match"),
    ],
)
def test_slow_expressions_are_found(expression: str, method: str) -> None:
    pattern = Pattern("", re.compile(expression), frozenset({method}))
    assert not pattern.is_linear(SIZE, FLOOR_S)
