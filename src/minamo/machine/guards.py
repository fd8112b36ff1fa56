"""Guard expressions: names joined by `and`, `or`, `not` and parentheses, nothing else.

python-statemachine accepts more (comparisons, attributes, calls).  A chart expresses conditions
by names that a reader can look up, so every other form is refused, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

Guard = Callable[[Any, Any], bool]


class BadGuard(ValueError):
    """An expression that is not made of names, and, or, not."""


def parse(expression: str) -> ast.expr:
    """Parse *expression*, refusing everything but names, `and`, `or`, `not`."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise BadGuard(f"{expression!r} is not an expression") from None
    for node in ast.walk(tree):
        # `ast.walk` also yields the contexts and operators of these nodes.
        if not isinstance(
            node, ast.BoolOp | ast.UnaryOp | ast.Name | ast.And | ast.Or | ast.Not | ast.Load
        ):
            raise BadGuard(f"{expression!r} may only use names, and, or, not")
    return tree


def names(expression: str) -> list[str]:
    """Return the guard names in *expression*, in the order they are written."""
    found = [node for node in ast.walk(parse(expression)) if isinstance(node, ast.Name)]
    return [node.id for node in sorted(found, key=lambda node: node.col_offset)]


def build(expression: str, resolve: Mapping[str, Guard]) -> Guard:
    """Compile *expression* into one callable; a lone name adds no overhead."""
    return _build(parse(expression), resolve)


def _build(node: ast.expr, resolve: Mapping[str, Guard]) -> Guard:
    if isinstance(node, ast.Name):
        return resolve[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = _build(node.operand, resolve)
        return lambda actions, payload: not inner(actions, payload)
    assert isinstance(node, ast.BoolOp)
    parts = tuple(_build(value, resolve) for value in node.values)
    if isinstance(node.op, ast.And):
        return lambda actions, payload: all(part(actions, payload) for part in parts)
    return lambda actions, payload: any(part(actions, payload) for part in parts)


def in_javascript(expression: str) -> str:
    """Return *expression* as ECMAScript, for exports."""
    return _in_javascript(parse(expression))


def _in_javascript(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        return f"!{_operand(node.operand)}"
    assert isinstance(node, ast.BoolOp)
    sign = " && " if isinstance(node.op, ast.And) else " || "
    return sign.join(map(_operand, node.values))


def _operand(node: ast.expr) -> str:
    words = _in_javascript(node)
    return f"({words})" if isinstance(node, ast.BoolOp) else words
