"""Rules about when are in charts: no class hides a machine in a handful of booleans.

Three booleans that change are eight states, of which few are meant.  A class with as many is a chart
or one Enum; those below are neither, each for its own reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "minamo"
FLAGS_MAX = 2
ALLOWED = {
    "core/accounting/outbox.py: Outbox": (
        "`grows` is set once, before the first segment; `spoke` and `limited` only report, and what is "
        "done next depends on no two of them together"
    ),
    "core/lexing/boundaries.py: OpenConstructs": (
        "a fold over characters: each flag is a fact about the text so far, and they do not exclude "
        "one another"
    ),
    "shell/turns/redis_lease.py: RedisLease": (
        "what is known of the server, of the settings and of the owner; three sources, no order"
    ),
}


def is_boolean(value: ast.expr | None) -> bool:
    """Whether an expression is true or false by its form."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.Not)
    if isinstance(value, ast.BoolOp):
        return all(is_boolean(part) for part in value.values)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("bool", "isinstance", "any", "all")
    return isinstance(value, ast.Compare)


def targets(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The places that a statement assigns to, each with its value."""
    if isinstance(node, ast.AnnAssign):
        yield node.target, node.value
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def assigned(trees: Iterable[ast.AST]) -> set[str]:
    """The names of all attributes that are assigned to, on any object."""
    return {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def flags(kind: ast.ClassDef, changed: set[str]) -> set[str]:
    """The attributes of a class that are true or false and change.

    Those are the attributes that its methods set so, and the declared ones of a name that is
    assigned to anywhere: another class may change them.
    """
    declared = {
        node.target.id
        for node in kind.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) == "bool"
    }
    return declared & changed | {
        target.attr
        for method in kind.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(method)
        for target, value in targets(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
        and is_boolean(value)
    }


def found() -> dict[str, set[str]]:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    changed = assigned(trees.values())
    return {
        f"{path.relative_to(SOURCE).as_posix()}: {node.name}": flags(node, changed)
        for path, tree in sorted(trees.items())
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def test_no_class_hides_a_machine_in_booleans() -> None:
    classes = found()
    assert len(classes) > 300
    many = {name: sorted(has) for name, has in classes.items() if len(has) > FLAGS_MAX}
    unexpected = {name: has for name, has in many.items() if name not in ALLOWED}
    assert not unexpected, "make it a chart or one Enum, or say why not in ALLOWED"
    assert set(ALLOWED) == set(many), "take what is no longer so out of ALLOWED"


def test_flags_are_found_in_every_form() -> None:
    text = """
class Lamp:
    dim: bool = False
    fixed: bool = True
    def __init__(self): self.lit = False; self.name: str = "x"; self.warm: bool = not self.lit
    async def go(self): self.a, self.b = True, 1; self.c = self.a and not self.b; self.d = 1 < 2
    def end(self): self.e = bool(self.name); other.f = True; local = True
"""
    tree = ast.parse(text + "Lamp().dim = True")
    (kind,) = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert flags(kind, assigned([tree])) == {"lit", "warm", "a", "d", "e", "dim"}
