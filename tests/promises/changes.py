"""Small changes of a program: the kinds there are, and each possible one of a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_LIMIT = re.compile(r"_?[A-Z][A-Z0-9_]*_(MAX|LIMIT|STEP|HOLD|AFTER|CONTEXT)|_\w+_max")
_TRIMS = ("clear", "pop", "popleft", "discard")
_CLEANERS = (*_TRIMS, "aclose", "cancel", "close", "release", "remove", "set", "stop")
Edits = Iterator[tuple[str, ast.AST]]


def _logic(node: ast.AST) -> Edits:
    """Another comparison, condition or number."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        other = _SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
        what = f"{type(node.ops[0]).__name__} → {type(other).__name__}"
        yield what, ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _SWAPS:
        fields = dict(ast.iter_fields(node))
        fields["op"] = _SWAPS[type(node.op)]()  # type: ignore[assignment]
        what = f"{type(node.op).__name__} → {type(fields['op']).__name__}"
        yield what, type(node)(**fields)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        fields = {**dict(ast.iter_fields(node)), "test": ast.UnaryOp(ast.Not(), node.test)}
        yield "condition turned round", type(node)(**fields)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        value = node.value
        other = not value if isinstance(value, bool) else value + 1
        yield f"{value} → {other}", ast.Constant(other)


def _bounds(node: ast.AST) -> Edits:
    """A bound is removed: a limit a thousand times as high, the larger of two, nothing trimmed."""
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        if _LIMIT.fullmatch(name):
            yield f"{name} × 1,000", ast.BinOp(node, ast.Mult(), ast.Constant(1_000))
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "min":
        yield "min → max", ast.Call(ast.Name("max", ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.Delete) or (isinstance(node, ast.Expr) and _trims(node.value)):
        yield f"{ast.unparse(node)} left out", ast.Pass()


def _trims(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _TRIMS


def _cleanup(node: ast.AST) -> Edits:
    """Something is left behind: nothing is closed, cancelled, removed, or done at the end."""
    if isinstance(node, ast.Try) and node.finalbody:
        fields = {**dict(ast.iter_fields(node)), "finalbody": [ast.Pass()]}
        yield "finally left out", type(node)(**fields)
    elif isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in _CLEANERS:
            yield f"{ast.unparse(node)} left out", ast.Pass()
    elif isinstance(node, ast.Delete):
        yield f"{ast.unparse(node)} left out", ast.Pass()


def _faults(node: ast.AST) -> Edits:
    """A fault is no longer caught."""
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        what = f"except {ast.unparse(node.type)} left out"
        yield what, ast.ExceptHandler(ast.Name("ZeroDivisionError"), node.name, node.body)


def _hashes(node: ast.AST) -> Edits:
    """A number or an order that depends on the seed of the hashes."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        changing = ast.parse('hash("a") % 31', mode="eval").body
        yield f"{node.value} + hash", ast.BinOp(node, ast.Add(), changing)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "sorted":
        yield (
            "sorted → set",
            ast.Call(ast.Name("list"), [ast.Call(ast.Name("set"), node.args[:1], [])], []),
        )


def _statements(node: ast.AST) -> Edits:
    """Something is not done, not returned or not refused, or a loop goes on."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(node, ast.Raise) or (isinstance(call, ast.Call) and not _trims(call)):
        yield f"{ast.unparse(node)} left out", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant) or node.value.value:  # None is as false
            yield "return None", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and type(node.op) in _SWAPS:
        swapped = _SWAPS[type(node.op)]
        what = f"{type(node.op).__name__} → {swapped.__name__}"
        yield what, ast.AugAssign(node.target, swapped(), node.value)  # type: ignore[arg-type]
    elif isinstance(node, ast.Break):
        yield "break → continue", ast.Continue()
    elif isinstance(node, ast.Continue):
        yield "continue → break", ast.Break()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", node.operand


_WORDING = re.compile(r"[a-z]{2} | [a-z]{2}")


def _words(node: ast.AST) -> Edits:
    """A name with one more letter, or other characters with another one at the end; no prose."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _WORDING.search(node.value):
            return
        is_name = node.value[-1:].isalnum() or not node.value
        other = (node.value if is_name else node.value[:-1]) + "x"
        yield f"{node.value!r} → {other!r}", ast.Constant(other)


KINDS: dict[str, Callable[[ast.AST], Edits]] = {
    "logic": _logic, "bounds": _bounds, "cleanup": _cleanup, "faults": _faults, "hashes": _hashes,
    "statements": _statements, "words": _words,
}  # fmt: skip


class Change(NamedTuple):
    """One small change of a file: of a node, which its parent has by this name at this place."""

    file: Path
    tree: ast.Module
    parent: ast.AST
    name: str
    at: int | None
    line: int
    what: str
    node: ast.AST

    def source(self) -> str:
        """The changed file."""
        kept = self._put(self.node)
        try:
            return ast.unparse(self.tree)
        finally:
            self._put(kept)

    def code(self) -> CodeType:
        """The changed file, compiled; each function begins in the line where it did."""
        kept = self._put(self.node)
        try:
            return compile(self.tree, str(self.file), "exec", dont_inherit=True)
        finally:
            self._put(kept)

    def _put(self, node: ast.AST) -> ast.AST:
        value = getattr(self.parent, self.name)
        if self.at is None:
            setattr(self.parent, self.name, node)
            return value  # type: ignore[no-any-return]
        kept, value[self.at] = value[self.at], node
        return kept  # type: ignore[no-any-return]


def changes(file: Path, lines: Container[int], kinds: str) -> Iterator[Change]:
    """Each small change of a line in *lines*, inside of functions: the rest is run once."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }
    never_run = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        for part in ast.walk(node.annotation)
    }
    wording = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant)
    }
    for parent in ast.walk(tree):
        if isinstance(parent, ast.Expr) and isinstance(parent.value, ast.Constant):
            continue  # a docstring
        if isinstance(parent, ast.keyword) and parent.arg == "strict":
            continue  # a check, as an assertion is
        for name, value in ast.iter_fields(parent):
            nodes = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for at, node in nodes:
                line = getattr(node, "lineno", 0)
                if line in inside and line in lines and id(node) not in never_run:
                    for kind in kinds.split():
                        if kind == "words" and id(node) in wording:
                            continue
                        for what, other in KINDS[kind](node):
                            ast.fix_missing_locations(ast.copy_location(other, node))
                            yield Change(file, tree, parent, name, at, line, what, other)
