"""Functions that make no tool are refused when they are added, and told why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from minamo.errors import BadRequest
from minamo.shell.turns.tools import TOOLS_MAX, Tools, tool


@attrs.define
class Node:
    value: int
    children: list[Node]


class Opaque:
    pass


@attrs.define
class One:
    a: int


@attrs.define
class Two:
    b: int


def plain(x: int) -> int:
    return x


async def yields(x: int):  # type: ignore[no-untyped-def]
    yield x


async def unannotated(x) -> None:  # type: ignore[no-untyped-def]
    pass


async def star(*x: int) -> None:
    pass


async def stars(**x: int) -> None:
    pass


async def fixed(x: int, /) -> None:
    pass


async def opaque(x: Opaque) -> None:
    pass


async def function(x: Callable[[], None]) -> None:
    pass


async def union(x: One | Two) -> None:
    pass


async def recursive(x: Node) -> None:
    pass


async def missing(x: NotThere) -> None:  # type: ignore[name-defined]  # noqa: F821
    pass


async def wrong(x: 3 + 4j) -> None:  # type: ignore[valid-type]
    pass


async def broken(x: "3 +") -> None:  # type: ignore[valid-type]  # noqa: F722
    pass


async def lost(x: functools.nothing) -> None:  # type: ignore[name-defined]
    pass


async def fine(x: int = 1) -> int:
    """All is well."""
    return x


async def long(x: int) -> None:
    pass


long.__doc__ = "word " * 300


class Calls:
    async def __call__(self, x: int) -> int:
        return x

    async def method(self, x: int) -> int:
        return x


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (plain, "'plain' is not `async def`"),
        (yields, "'yields' is not `async def`"),
        (Calls(), "not a Calls"),
        (Calls, "not a type"),
        (functools.partial(fine, 1), "not a partial"),
        (None, "not a NoneType"),
        (unannotated, "parameter 'x' has no type; annotate it"),
        (star, "parameter 'x' takes any number of arguments"),
        (stars, "parameter 'x' takes any number of arguments"),
        (fixed, "parameter 'x' cannot be given by name; take away the `/`"),
        (opaque, "parameter 'x' has a type that JSON does not have"),
        (function, "parameter 'x' has a type that JSON does not have"),
        (union, "parameter 'x' has a type that JSON does not have"),
        (recursive, "parameter 'x' is a Node, which contains itself"),
        (missing, "'NotThere', which its module does not have"),
        (wrong, "parameter 'x' has a type that JSON does not have"),
        (broken, "its annotations are no types"),
        (lost, "its annotations are no types (module 'functools' has no attribute 'nothing')"),
        (long, "1500 characters, providers take 1024"),
    ],
)
def test_a_bad_function_is_refused(bad: Any, says: str) -> None:
    with pytest.raises(BadRequest) as refused:
        Tools([bad])
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "1st", "a.b", "x" * 65, "tür"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="name"):
        tool(fine, name=name)


@pytest.mark.parametrize("timeout", [0, -1, 1.5, True, "1"])
def test_a_bad_limit_is_refused(timeout: Any) -> None:
    with pytest.raises(BadRequest, match="timeout_ms"):
        tool(fine, timeout_ms=timeout)


def test_two_tools_of_one_name_are_refused() -> None:
    tools = Tools([fine])
    with pytest.raises(BadRequest, match=r"two tools 'fine'.*name="):
        tools.add(fine)
    with pytest.raises(BadRequest, match="two tools 'fine'"):
        Tools([fine, fine])
    tools.add(name="other")(fine)
    assert list(tools) == ["fine", "other"]


def test_there_are_not_too_many() -> None:
    tools = Tools(tool(fine, name=f"f{number}") for number in range(TOOLS_MAX))
    with pytest.raises(BadRequest, match=f"more than {TOOLS_MAX}"):
        tools.add(fine)


def test_adding_leaves_the_function_as_it_is() -> None:
    tools = Tools()

    assert tools.add(fine) is fine
    assert tools.add(name="second", timeout_ms=5, ends_turn=True, description="Else.")(fine) is fine
    second = tools.get("second")
    assert second is not None
    assert (second.timeout_ms, second.ends_turn) == (5, True)
    assert [one.description for one in tools.specs] == ["All is well.", "Else."]
    assert repr(tools) == "Tools(fine, second)"


def test_a_method_is_a_tool() -> None:
    (spec,) = Tools([Calls().method]).specs
    assert list(spec.parameters["properties"]) == ["x"]


def test_an_allow_list_is_made_by_name() -> None:
    tools = Tools([fine, tool(fine, name="b"), tool(fine, name="c")])

    assert list(tools.only("c", "fine", "c")) == ["c", "fine"]
    assert len(tools.only()) == 0
    assert "b" in tools
    assert "b" not in tools.only("c")
    with pytest.raises(BadRequest, match="no tool 'd'; there are fine, b, c"):
        tools.only("d")
