"""Tools: what is told to a model about them, what their page says, and those of a real MCP server."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import anyio
import attrs
import jsonschema
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minamo
from minamo.core.chunks import Call
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAICompatible
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.tool_job import CLEAN_UP_S, LINES_MAX, Progress, ToolContext
from minamo.shell.turns.tool_runner import LEFT_BEHIND_MAX, ToolRunner
from minamo.shell.turns.tool_schema import documented
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_result import STOP_GRACE_MS, ToolResult, TurnSettings
from minamo.wire.conversation import user
from minamo.wire.options import Tool

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@attrs.define
class Point:
    """Somewhere."""

    x: int
    y: float = 0.0


@dataclass
class Person:
    name: str
    home: Point | None = None


class Search(TypedDict):
    words: list[str]
    limit: NotRequired[int]


SHAPES: list[tuple[Any, list[Any], list[Any]]] = [
    (str, ["", "ü"], [1, None, True, ["a"]]),
    (int, [0, -5, 5.0, 2**70], ["5", 5.5, True, None]),
    (float, [0, 1.5, -2], ["1", None, True]),
    (bool, [True, False], [0, "true", None]),
    (Literal["a", "b"], ["a"], ["c", 1, None]),
    (Literal[1, 2], [1, 2.0], ["1", 3]),
    (Literal["a", 1], ["a", 1], ["b", 2]),
    (Colour, ["red"], ["RED", 1, None]),
    (Level, [1], [3, "1"]),
    (Optional[int], [None, 3], ["3"]),  # noqa: UP045 - the old way to say it
    (str | int | None, [None, "a", 1], [1.5, []]),
    (list[int], [[], [1, 2]], [[1, "a"], {}, "ab"]),
    (list[list[str]], [[["a"]]], [["a"]]),
    (dict[str, int], [{}, {"a": 1}], [{"a": "b"}, []]),
    (dict[str, Any], [{"a": [1, None]}], [[]]),
    (tuple[int, str], [[1, "a"]], [[1], ["a", 1]]),
    (set[str], [["a", "b"]], ["a"]),
    (Point, [{"x": 1}, {"x": 1, "y": 2.5}], [{}, {"x": "1"}, 3]),
    (Person, [{"name": "A"}, {"name": "A", "home": {"x": 1}}], [{"name": 1}, {"home": None}]),
    (Search, [{"words": ["a"]}, {"words": [], "limit": 3}], [{"limit": 3}, {"words": "a"}]),
    (list[Point | None], [[{"x": 1}, None]], [[1]]),
    (Annotated[int, msgspec.Meta(ge=1, le=6)], [1, 6], [0, 7]),
    (Annotated[str, "What to say."], ["a"], [1]),
    (date, ["2024-02-29"], [1]),
]


def function_of(hint: Any) -> Any:
    async def take(value: Any) -> Any:
        return True

    take.__annotations__["value"] = hint
    return take


async def answers(tools: Tools, *arguments: dict[str, Any]) -> tuple[ToolResult, ...]:
    shop = ToolRunner(tools=tools, settings=TurnSettings(), stop_signal=StopSignal())
    (name,) = tools
    return await shop.run([Call(name, one) for one in arguments], anyio.CancelScope())


@pytest.mark.parametrize(("hint", "good", "bad"), SHAPES, ids=[str(one[0]) for one in SHAPES])
@pytest.mark.anyio
async def test_the_schema_says_what_is_taken(hint: Any, good: list[Any], bad: list[Any]) -> None:
    tools = Tools([function_of(hint)])
    (spec,) = tools.specs
    jsonschema.Draft202012Validator.check_schema(spec.parameters)
    validator = jsonschema.Draft202012Validator(spec.parameters)
    assert "$ref" not in str(spec.parameters)

    for value in good:
        assert validator.is_valid({"value": value}), value
    for value in bad:
        assert not validator.is_valid({"value": value}), value
    told = await answers(tools, *({"value": value} for value in (*good, *bad)))
    assert [one.problem for one in told] == [""] * len(good) + ["bad_arguments"] * len(bad)
    missing, more = await answers(tools, {}, {"value": good[0], "other": 1})
    assert (missing.problem, more.problem) == ("bad_arguments", "bad_arguments")
    assert not validator.is_valid({})
    assert not validator.is_valid({"value": good[0], "other": 1})


@pytest.mark.parametrize("hint", [one[0] for one in SHAPES], ids=[str(one[0]) for one in SHAPES])
def test_all_three_providers_are_offered_it(hint: Any) -> None:
    (spec,) = Tools([function_of(hint)]).specs
    for llm in (
        OpenAICompatible("http://127.0.0.1:1", model="m"),
        Gemini(model="m", api_key="k"),
        Anthropic(model="m", api_key="k"),
    ):
        body = msgspec.json.decode(llm.chat([user("Hi")], tools=[spec]).request.body)
        assert _offered(body) == msgspec.json.decode(msgspec.json.encode(spec.parameters))


def _offered(body: dict[str, Any]) -> Any:
    (one,) = body["tools"]
    if "functionDeclarations" in one:
        return one["functionDeclarations"][0]["parametersJsonSchema"]
    return one["function"]["parameters"] if "function" in one else one["input_schema"]


async def numpy(first: int, second: int, third: str = "x") -> None:
    """Add up.

    Parameters
    ----------
    first, second : int
        A number.
    third
        A word.

    Returns
    -------
    None
    """


def test_a_docstring_describes_the_tool_and_its_parameters() -> None:
    spec = tool(numpy).described.spec

    assert spec == Tool(
        "numpy",
        "Add up.",
        {
            "type": "object",
            "properties": {
                "first": {"type": "integer", "description": "A number."},
                "second": {"type": "integer", "description": "A number."},
                "third": {"type": "string", "description": "A word.", "default": "x"},
            },
            "required": ["first", "second"],
            "additionalProperties": False,
        },
    )


def test_the_context_is_not_shown_and_defaults_are() -> None:
    async def look(
        city: str,
        days: Annotated[int, "How far."] = 3,
        *,
        context: ToolContext,
        where: Annotated[Point, "Where it is."] = Point(1),  # noqa: B008
        colour: Colour = Colour.RED,
        odd: int | None = None,
        maybe: ToolContext | None = None,
    ) -> None:
        """Look up the weather.

        It may be wrong.

        Args:
            city: The name of a city,
                in English.
            days (int): What the annotation says wins.
        """

    # The annotations of this file are text, and its own names are not global.
    look.__annotations__ = {
        "city": str,
        "days": Annotated[int, "How far."],
        "context": ToolContext,
        "where": Annotated[Point, "Where it is."],
        "colour": Colour,
        "odd": int | None,
        "maybe": ToolContext | None,
    }
    made = tool(look).described
    properties = made.spec.parameters["properties"]

    assert made.contexts == ("context", "maybe")
    assert made.spec.description == "Look up the weather.\n\nIt may be wrong."
    assert list(properties) == ["city", "days", "where", "colour", "odd"]
    assert properties["city"]["description"] == "The name of a city, in English."
    assert properties["days"] == {"type": "integer", "description": "How far.", "default": 3}
    assert properties["where"]["description"] == "Where it is."
    assert properties["where"]["default"] == {"x": 1, "y": 0.0}
    assert properties["colour"] == {"type": "string", "enum": ["blue", "red"], "default": "red"}
    assert properties["odd"]["default"] is None
    assert made.spec.parameters["required"] == ["city"]


DOC_LINES = [
    "Look it up.", "", "Args:", "    city: A city.", "    city", "    : ?", "Returns:", "Args",
    "----", "Parameters", "----------", "city : str", "    A city.", ":param city: A city.",
    ":param", "@param city:", "Example:", "Note: this.", "    more", "\t:",
]  # fmt: skip


@given(st.lists(st.sampled_from(DOC_LINES), max_size=9))
@example(["\t:", "\t:", "Look it up."])
def test_no_docstring_is_too_odd(lines: list[str]) -> None:
    found = documented(inspect.cleandoc("\n".join(lines)))
    assert all(isinstance(text, str) for text in found.parameters.values())
    if lines[:2] == ["Look it up.", ""]:
        assert found.description.startswith("Look it up.")


async def untouched(at: Sequence[int] = (), how: Any = None) -> str:
    return f"{at!r} {how!r}"


@pytest.mark.anyio
async def test_what_is_not_given_is_left_to_the_function() -> None:
    (one,) = await answers(Tools([untouched]), {})
    assert one.text == "() None"


PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text(encoding="utf-8")


async def test_the_programs_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "tools.md", "exec"), names)
    shown, progress, result = await names["main"]()

    assert f"`{[shown[0]]!r}"[:-1].replace("'", '"') in PAGE
    assert repr(shown[1]) in PAGE
    assert progress == ["Looking at the sky over Rome…"]
    assert result.status == "completed"
    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert len(await names["roll"](6, 3)) == 3
    assert await names["sum_up"](2) == 2


def test_the_table_of_limits_is_right() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d ]+|none) \|", PAGE, re.MULTILINE))
    told = {name: value.replace(" ", "") for name, value in rows.items()}
    real = {name: str(value or "none") for name, value in attrs.asdict(TurnSettings()).items()}
    assert told == real


def test_the_numbers_in_the_prose_are_right() -> None:
    assert "every tool that it ends a second to clean up" in " ".join(PAGE.split())
    assert CLEAN_UP_S == 1
    assert "After four calls of one tool" in PAGE
    assert LEFT_BEHIND_MAX == 4
    assert f"a turn shows at most {LINES_MAX} of them" in PAGE
    scaling = (Path(__file__).parents[3] / "docs" / "scaling.md").read_text(encoding="utf-8")
    for page in (PAGE, scaling):
        assert re.search(r"a second[^.]* \(`stop_grace_ms`\)", page)
    assert STOP_GRACE_MS == 1_000


PROGRAM = str(Path(__file__).parents[2] / "support" / "mcp_example.py")
STDIO = [sys.executable, PROGRAM]


def runner(tools: minamo.Tools, **settings: Any) -> tuple[ToolRunner, list[Progress]]:
    shown: list[Progress] = []
    made = ToolRunner(
        tools=tools,
        settings=TurnSettings(**settings),
        stop_signal=StopSignal(),
        show=shown.append,
    )
    return made, shown


async def call(tools: minamo.Tools, name: str, settings: Any = None, **given: Any) -> Any:
    made, _ = runner(tools, **(settings or {}))
    [answer] = await made.run([Call(name, given, id="1")], anyio.CancelScope())
    return answer


@asynccontextmanager
async def over_http() -> AsyncIterator[str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *STDIO, str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


async def check(server: minamo.McpServer) -> None:
    async with server:
        assert set(server.tools) == {"add", "slow", "files_read", "fail"}
        [spec] = server.tools.only("add").specs
        assert spec.description == "Add two numbers."
        answer = await call(server.tools, "add", a=2, b=3.0)
        assert (answer.text, answer.problem) == ("5", "")


async def test_a_program_over_stdio() -> None:
    await check(minamo.McpServer(STDIO))


async def test_a_server_over_http() -> None:
    async with over_http() as url:
        await check(minamo.McpServer(url, headers={"Authorization": "Bearer secret-0123456789"}))


async def test_its_results_and_errors_are_those_of_a_tool() -> None:
    async with minamo.McpServer(STDIO) as server:
        wrong = await call(server.tools, "add", a="x", b=1)
        assert wrong.problem == "bad_arguments"
        assert "$.a" in wrong.text
        failed = await call(server.tools, "fail")
        assert failed.problem == "refused"
        long = await call(server.tools, "files_read", {"tool_result_chars_max": 1_000})
        assert len(long.text) == 1_000
        assert "cut off" in long.text


async def test_progress_is_shown_and_a_late_call_is_cancelled(tmp_path: Path) -> None:
    note = tmp_path / "note"
    async with minamo.McpServer(STDIO, timeout_ms=1_500) as server:
        made, shown = runner(server.tools)
        [answer] = await made.run([Call("slow", {"note": str(note)}, id="1")], anyio.CancelScope())
        assert answer.problem == "timeout"
        assert [progress.text for progress in shown] == ["one third"]
        async with asyncio.timeout(10):
            while not note.exists():  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.05)
        # The session is as usable as before.
        assert (await call(server.tools, "add", a=1, b=1)).text == "2"


async def test_tools_of_several_places_go_together() -> None:
    async def roll() -> int:
        return 4

    tools = minamo.Tools([roll])
    async with minamo.McpServer(STDIO, prefix="math_", only=["add"]) as server:
        tools.include(server.tools)
        assert list(tools) == ["roll", "math_add"]
        assert (await call(tools, "math_add", a=1, b=2)).text == "3"
    gone = await call(tools, "math_add", a=1, b=2)
    assert gone.problem == "refused"
    assert "cannot be reached" in gone.text


async def test_it_may_be_left_in_another_task() -> None:
    server = minamo.McpServer(STDIO)
    await asyncio.create_task(server.__aenter__())
    assert "add" in server.tools
    await asyncio.create_task(server.close())


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (["no-such-program-anywhere"], "an MCP server cannot be used"),
        ([sys.executable, "-c", "pass"], "an MCP server cannot be used"),
        ("http://127.0.0.1:9/mcp", "an MCP server cannot be used"),
    ],
)
async def test_a_server_that_does_not_work_is_said(server: Any, words: str) -> None:
    with pytest.raises(minamo.MinamoError, match=words):
        async with minamo.McpServer(server):
            pass


@pytest.mark.parametrize("server", [[], [""], "http://example.invalid/mcp", "nonsense"])
async def test_a_wrong_server_is_refused(server: Any) -> None:
    with pytest.raises(minamo.BadRequest):
        minamo.McpServer(server)


async def test_a_tool_that_is_not_there_is_said() -> None:
    with pytest.raises(minamo.BadRequest, match="no tool 'subtract'; it has add"):
        async with minamo.McpServer(STDIO, only=["subtract"]):
            pass
