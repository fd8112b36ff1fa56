"""The syntax of a chart file: YAML nodes that know their lines, and guard expressions.

A guard is made of names joined by `and`, `or`, `not` and parentheses, nothing else.
python-statemachine accepts more (comparisons, attributes, calls).  A chart expresses conditions
by names that a reader can look up, so every other form is refused, with the reason.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml
from attrs import frozen

from minamo.errors import ChartError

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def line(node: yaml.Node) -> int:
    """Return the line a node begins on, counted from one."""
    return int(node.start_mark.line) + 1


def hint(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for a misspelt *word*, ready to be appended to a message."""
    choices = list(known)
    near = difflib.get_close_matches(word, choices, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(choices)}" if choices else ""


@frozen
class Nodes:
    """Typed access to nodes; every error carries the file and the line."""

    file: str
    refused: Mapping[str, str]
    """Known but unsupported keys, with what to do instead."""

    def mapping(
        self, node: yaml.Node, known: tuple[str, ...], name: str, *, state: str = ""
    ) -> dict[str, yaml.Node]:
        """Return the entries of a mapping; only the keys in *known* are accepted."""
        parts = dict(self.entries(node, name, state=state))
        for key in parts:
            if key in self.refused:
                raise self.error(
                    parts[key], f"{key!r} is not supported here: {self.refused[key]}", state=state
                )
            if key not in known:
                raise self.error(
                    parts[key], f"{name} has no key {key!r}{hint(key, known)}", state=state
                )
        return parts

    def entries(
        self, node: yaml.Node, name: str = "this", *, state: str = ""
    ) -> list[tuple[str, yaml.Node]]:
        """Return the entries of a mapping in order; a key written twice is refused."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{name} must be a mapping of keys to values", state=state)
        seen: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.scalar(key_node)
            if key in seen:
                raise self.error(
                    key_node, f"the key {key!r} is written twice; keep one of them", state=state
                )
            seen[key] = value
        return list(seen.items())

    def lines(self, node: yaml.Node) -> dict[str, int]:
        """Return the line of each key of a mapping."""
        return {self.scalar(key): line(key) for key, _ in node.value}

    def items(self, node: yaml.Node | None, state: str) -> list[yaml.Node]:
        """Return the rows of a list; none if *node* is None."""
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, "transitions must be a list of rows", state=state)
        return list(node.value)

    def words(self, node: yaml.Node | None, state: str) -> tuple[str, ...]:
        """Return one name or a list of names as a tuple."""
        if node is None:
            return ()
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(self.scalar(item, state=state) for item in nodes)

    def scalar(self, node: yaml.Node, *, state: str = "") -> str:
        """Return the text of a scalar."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, "a single word or text belongs here", state=state)
        return str(node.value)

    def prose(self, parts: Mapping[str, yaml.Node], key: str) -> str:
        """Return the text under *key* on one line; empty if there is none."""
        return " ".join(self.scalar(parts[key]).split()) if key in parts else ""

    def flag(self, parts: Mapping[str, yaml.Node], key: str, state: str) -> bool:
        """Return the true or false under *key*; False if there is none."""
        if key not in parts:
            return False
        value = self.scalar(parts[key], state=state)
        if value not in ("true", "false"):
            raise self.error(parts[key], f"{key!r} is true or false, not {value!r}", state=state)
        return value == "true"

    def glossary(self, node: yaml.Node, kind: str, state: str = "") -> dict[str, str]:
        """Return a mapping of names to descriptions; a description is required."""
        found: dict[str, str] = {}
        for name, value in self.entries(node, f"the list of {kind}s", state=state):
            self.name(value, name, f"an {kind}" if kind[0] in "aei" else f"a {kind}", state=state)
            words = " ".join(self.scalar(value, state=state).split())
            if not words or words in ("~", "null"):
                reason = "say why it is ignored" if state else "say in a few words what it means"
                raise self.error(
                    value,
                    f"no reason given; {reason}",
                    state=state,
                    event=name if kind.endswith("event") else "",
                )
            found[name] = words
        return found

    def name(self, node: yaml.Node, name: str, kind: str, *, state: str = "") -> None:
        """Refuse a *name* that an identifier could not be."""
        if not _NAME.match(name):
            raise self.error(
                node,
                f"{name!r} cannot name {kind}; use lower-case letters, digits and _",
                state=state,
            )

    def error(
        self, node: yaml.Node, message: str, *, state: str = "", event: str = ""
    ) -> ChartError:
        """Return an error at the line of *node*."""
        return ChartError(message, file=self.file, line=line(node), state=state, event=event)


Guard = Callable[[Any, Any], bool]


class BadGuard(ValueError):
    """An expression that is not made of names, and, or, not."""


def parse_guard(expression: str) -> ast.expr:
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


def guard_names(expression: str) -> list[str]:
    """Return the guard names in *expression*, in the order they are written."""
    found = [node for node in ast.walk(parse_guard(expression)) if isinstance(node, ast.Name)]
    return [node.id for node in sorted(found, key=lambda node: node.col_offset)]


def build_guard(expression: str, resolve: Mapping[str, Guard]) -> Guard:
    """Compile *expression* into one callable; a lone name adds no overhead."""
    return _build(parse_guard(expression), resolve)


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


def guard_in_javascript(expression: str) -> str:
    """Return *expression* as ECMAScript, for exports."""
    return _in_javascript(parse_guard(expression))


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
