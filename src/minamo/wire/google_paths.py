"""Arguments that arrive value by value, each with the JSON path of its place (Vertex).

The tree is kept as mappings from steps to what lies there, and becomes lists and objects at
the end: a list may then be filled in any order, and an index of a million costs nothing.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from minamo.wire.limits import ARGUMENT_DEPTH_MAX

# $.name, $['na me'], $["name"], $[0]: what RFC 9535 calls a singular path.
_STEP = re.compile(
    r"""\.([^\W\d][\w-]*) | \[(\d{1,6})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


class PartialArg(msgspec.Struct, rename="camel"):
    """One value, or one more piece of a text."""

    json_path: str = ""
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    null_value: Any = msgspec.UNSET
    """JSON's own null, or its name."""


class _Leaf:
    """A value; a text in pieces, joined once, so that a long one stays linear."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def set(self, value: Any) -> None:
        if not isinstance(value, str):
            self.value = value
        elif isinstance(self.value, list):
            self.value.append(value)
        else:
            self.value = [value]


def steps(path: str) -> list[str | int]:
    """The keys and indices of a path; empty if it is none that we know."""
    found: list[str | int] = []
    at = 1 if path.startswith("$") else len(path) + 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(found) == ARGUMENT_DEPTH_MAX:
            return []
        at = match.end()
        name, index, single, double = match.groups()
        if index is not None:
            found.append(int(index))
        elif name is not None:
            found.append(name)
        else:
            found.append(_ESCAPED.sub(r"\1", single if single is not None else double))
    return found


def place(root: dict[str | int, Any], arg: PartialArg) -> bool:
    """Put a value where its path says; False if there cannot be such a place."""
    path = steps(arg.json_path)
    if not path:
        return False
    spot: Any = root
    for step in path[:-1]:
        spot = spot.setdefault(step, {})
        if isinstance(spot, _Leaf):
            return False
    leaf = spot.setdefault(path[-1], _Leaf())
    if not isinstance(leaf, _Leaf):
        return False
    values = (arg.string_value, arg.number_value, arg.bool_value)
    found = next((value for value in values if value is not None), None)
    leaf.set(found)
    return found is not None or arg.null_value is not msgspec.UNSET


def settled(node: Any) -> Any:
    """The arguments; ValueError if a list has holes or a place is list and object at once."""
    if isinstance(node, _Leaf):
        return "".join(node.value) if isinstance(node.value, list) else node.value
    indices = [step for step in node if isinstance(step, int)]
    if not indices:
        return {step: settled(inner) for step, inner in node.items()}
    if len(indices) < len(node) or max(indices) >= len(indices):
        raise ValueError("a list with holes")
    return [settled(node[index]) for index in sorted(indices)]
