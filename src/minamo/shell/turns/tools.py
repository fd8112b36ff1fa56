"""Tools in Python: typed async functions that a model can call, registered by name.

tools = Tools()

@tools.add
async def roll(sides: int = 6) -> int:
    'Roll a die.'
    return random.randint(1, sides)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar, overload

from attrs import field, frozen

from minamo.core.limits import MS_MAX
from minamo.errors import BadRequest
from minamo.shell.turns.tool_job import ToolJob
from minamo.shell.turns.tool_schema import Described, describe
from minamo.wire.options import Tool

ToolFunction = Callable[..., Awaitable[Any]]
F = TypeVar("F", bound=ToolFunction)

# The limit of OpenAI; models choose badly from far fewer tools.
TOOLS_MAX = 128


@frozen(slots=True)
class FunctionTool:
    """One tool: the function and its specification for the model."""

    function: ToolFunction = field(repr=False)
    described: Described = field(repr=False)
    timeout_ms: int | None = None
    """None: the turn's `tool_timeout_ms` applies."""
    ends_turn: bool = False
    left_behind: list[ToolJob] = field(factory=list, init=False, repr=False, eq=False)
    """Calls that could not be stopped; entries that have ended are ignored."""

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return self.described.spec.name


@overload
def tool(
    function: ToolFunction,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_ms: int | None = None,
    ends_turn: bool = False,
) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_ms: int | None = None,
    ends_turn: bool = False,
) -> Callable[[ToolFunction], FunctionTool]: ...


def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_ms: int | None = None,
    ends_turn: bool = False,
) -> FunctionTool | Callable[[ToolFunction], FunctionTool]:
    """Make a tool of a function: ``@minamo.tool``, or ``@minamo.tool(timeout_ms=5_000)``.

    A tool with *ends_turn* ends the turn when it succeeds: the model is not asked again.
    """

    def make(function: ToolFunction) -> FunctionTool:
        return _make_tool(function, name, description, timeout_ms, ends_turn=ends_turn)

    return make if function is None else make(function)


def _make_tool(
    function: ToolFunction,
    name: str | None = None,
    description: str | None = None,
    timeout_ms: int | None = None,
    *,
    ends_turn: bool = False,
) -> FunctionTool:
    whole = isinstance(timeout_ms, int) and not isinstance(timeout_ms, bool)
    if timeout_ms is not None and (not whole or not 1 <= timeout_ms <= MS_MAX):
        raise BadRequest(f"timeout_ms must be a whole number above zero; it is {timeout_ms!r}")
    return FunctionTool(function, describe(function, name, description), timeout_ms, ends_turn)


class Tools:
    """The tools of a bot, by name."""

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[FunctionTool | ToolFunction] = ()) -> None:
        self._tools: dict[str, FunctionTool] = {}
        for entry in tools:
            self._put(entry if isinstance(entry, FunctionTool) else _make_tool(entry))

    @overload
    def add(self, function: F, /) -> F: ...

    @overload
    def add(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_ms: int | None = None,
        ends_turn: bool = False,
    ) -> Callable[[F], F]: ...

    def add(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_ms: int | None = None,
        ends_turn: bool = False,
    ) -> F | Callable[[F], F]:
        """Add a function: ``@tools.add``, or ``@tools.add(timeout_ms=5_000)``, as `tool` does."""

        def put(function: F) -> F:
            self._put(_make_tool(function, name, description, timeout_ms, ends_turn=ends_turn))
            return function

        return put if function is None else put(function)

    def include(self, other: Tools) -> None:
        """Add all tools of *other*, such as those of an `McpServer`."""
        for entry in other._tools.values():
            self._put(entry)

    def only(self, *names: str) -> Tools:
        """Return a subset of these tools, for one turn or one user."""
        for name in names:
            if name not in self._tools:
                raise BadRequest(
                    f"there is no tool {name!r}; there are {', '.join(self) or 'none'}"
                )
        return Tools(self._tools[name] for name in dict.fromkeys(names))

    def get(self, name: str) -> FunctionTool | None:
        """Return the tool called *name*, or None."""
        return self._tools.get(name)

    @property
    def specs(self) -> tuple[Tool, ...]:
        """The tool specifications sent to a provider."""
        return tuple(tool.described.spec for tool in self._tools.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"Tools({', '.join(self)})"

    def _put(self, tool: FunctionTool) -> None:
        if tool.name in self._tools:
            raise BadRequest(f"there are two tools {tool.name!r}; give one another name with name=")
        if len(self._tools) == TOOLS_MAX:
            raise BadRequest(f"more than {TOOLS_MAX} tools; offer those a turn needs with `only`")
        self._tools[tool.name] = tool
