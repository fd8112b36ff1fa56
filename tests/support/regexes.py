"""Every regular expression of a package, and texts that would take it long.

A pattern is tried with repetitions of the characters that it names itself, alone, in pairs, and one
repetition after another: what makes a backtracking engine try the same characters twice.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from attrs import frozen

METHODS = {"search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"}
_CATEGORIES = {
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_SPACE: " \n",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_NOT_WORD: "!",
    op.CATEGORY_NOT_DIGIT: "a",
}
CHARACTERS_MAX = 8
# No linear pattern takes as long for a short text: there is no need to look further.
ENOUGH_S = 0.05


@frozen
class Pattern:
    """A compiled pattern: where it is, and the methods by which it is called."""

    name: str
    compiled: re.Pattern[str]
    methods: frozenset[str]

    def slowest(self, size: int) -> tuple[float, str, str]:
        """Return the longest time of one call with *size* characters, its method and its text."""
        worst = (0.0, "", "")
        for text in _texts(_characters(self.compiled), size):
            for method in sorted(self.methods):
                seconds = self.seconds(method, text)
                if seconds > worst[0]:  # again: another process may have slowed the first call
                    seconds = min(seconds, *(self.seconds(method, text) for _ in range(2)))
                if seconds > worst[0]:
                    worst = (seconds, method, text)
                if seconds > ENOUGH_S:
                    return worst
        return worst

    def is_linear(self, size: int, floor_s: float) -> bool:
        """Return whether the slowest text takes under *floor_s*, or grows as its length does."""
        seconds, method, text = self.slowest(size)
        if seconds < floor_s or seconds > ENOUGH_S:
            return seconds < floor_s
        short = min(self.seconds(method, text[: size // 4]) for _ in range(5))
        whole = min(self.seconds(method, text) for _ in range(5))
        return whole < floor_s or whole < 8 * short

    def seconds(self, method: str, text: str) -> float:
        """Return the processor seconds of one call."""
        begin = time.process_time()
        found = getattr(self.compiled, method)(*(("",) if "sub" in method else ()), text)
        if method == "finditer":
            for _ in found:
                pass
        return time.process_time() - begin


def patterns(*packages: str) -> list[Pattern]:
    """Return every pattern that a module of the *packages* keeps in a name."""
    kept = dict[int, tuple[str, re.Pattern[str], set[str]]]()
    modules = [module for package in packages for module in _modules(package)]
    passed = dict[str, set[str]]()
    for module in modules:
        names = {name: value for name, value in vars(module).items() if _is_for_text(value)}
        if not names:
            continue
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        used = dict[str, set[str]]()
        for name, method in _calls(tree):
            used.setdefault(name, set()).add(method)
        passed[module.__name__] = set(_calls_of_parameters(tree))
        for name, value in names.items():
            full = f"{module.__name__}.{name}"
            _, _, methods = kept.setdefault(id(value), (full, value, set()))
            methods |= used.get(name, set())
    return [
        Pattern(name, compiled, frozenset(methods or passed[name.rpartition(".")[0]] or METHODS))
        for name, compiled, methods in kept.values()
    ]


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", []), package + "."):
        yield importlib.import_module(found.name)


def _is_for_text(value: object) -> bool:
    return isinstance(value, re.Pattern) and isinstance(value.pattern, str)


def _calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            if isinstance(node.value, ast.Name):
                yield node.value.id, node.attr
            elif isinstance(node.value, ast.Attribute):
                yield node.value.attr, node.attr


def _calls_of_parameters(tree: ast.Module) -> Iterator[str]:
    """Yield the methods by which functions call a pattern that is handed to them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = {one.arg for one in node.args.args if "Pattern" in ast.dump(one)}
            for inner in ast.walk(node) if names else ():
                if (
                    isinstance(inner, ast.Attribute)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id in names
                    and inner.attr in METHODS
                ):
                    yield inner.attr


def _characters(compiled: re.Pattern[str]) -> list[str]:
    """Return characters that the pattern tells apart, and one that it does not name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(compiled.pattern, compiled.flags)
    seen = dict.fromkeys(itertools.chain(_named(tree), "!x \n"))
    return list(seen)[:CHARACTERS_MAX]


def _named(node: Any) -> Iterator[str]:
    for kind, value in node:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif kind is op.RANGE:
            yield chr(value[0])
        elif kind is op.CATEGORY:
            yield from _CATEGORIES.get(value, "")
        elif kind is op.IN:
            yield from _named(value)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _named(branch)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _named(value[2])
        elif kind is op.SUBPATTERN:
            yield from _named(value[3])
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _named(value[1])
        elif kind is op.ATOMIC_GROUP:
            yield from _named(value)


def _texts(characters: list[str], size: int) -> Iterator[str]:
    units = [*characters, *("".join(pair) for pair in itertools.permutations(characters, 2))]
    for unit in units:
        text = (unit * size)[:size]
        yield text
        for end in characters:
            yield text + end
            yield end + text
    for first, second in itertools.permutations(characters, 2):
        half = size // 2
        yield first * half + second * half
        yield first * half + second * half + "!"
        yield second + first * half + second * half + "\n"
