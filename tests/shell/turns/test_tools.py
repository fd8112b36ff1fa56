"""Tools: how functions become tools, and how calls of them are run."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any

import anyio
import attrs
import msgspec
import pytest

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.shell.turns.tool_job import PROGRESS_CHARS_MAX, Progress, ToolContext, ToolError
from minamo.shell.turns.tool_runner import ToolRunner
from minamo.shell.turns.tools import TOOLS_MAX, Tools, tool
from minamo.shell.turns.turn_result import ToolResult, TurnSettings
from minamo.wire.limits import CALLS_MAX
from support.fake_discord import run_with_virtual_clock


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


SECRET = "sk-secret"


@attrs.define
class Positive:
    n: int = attrs.field()

    @n.validator
    def _check(self, _: object, value: int) -> None:
        if value < 0:
            raise ValueError(f"{SECRET}: {value}")
        if value == 0:
            raise ToolError("zero is nothing")


class OpaqueResult:
    def __repr__(self) -> str:
        return SECRET


async def give(what: str, many: int = 1) -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return {
        "none": None, "text": "hi", "number": 5, "list": [1, None, "a"], "object": {"a": Positive(1)},
        "opaque": OpaqueResult(), "inside": {"a": [OpaqueResult()]}, "loop": loop, "half": {"a": "\ud800"},
        "megabyte": "x" * 1_000_000, "exact": "x" * 32_768, "many": list(range(100_000)),
    }[what]  # fmt: skip


async def fail(how: str = "") -> None:
    if how == "purpose":
        raise ToolError("there is no such city")
    if how == "group":
        raise ExceptionGroup(SECRET, [ValueError(SECRET)])
    if how == "timeout":
        raise TimeoutError(SECRET)
    if how == "half":
        raise ToolError("\ud800" + "x" * 10_000)
    if how == "blank":
        raise ToolError
    raise KeyError(SECRET)


async def hang(seconds: float = 1e6) -> str:
    await anyio.sleep(seconds)
    return "late"


async def judge(it: Positive) -> int:
    return it.n


TOOLS = Tools([give, fail, hang, judge, tool(hang, name="brief", timeout_ms=2_000)])


def shop(tools: Tools = TOOLS, **options: Any) -> ToolRunner:
    options.setdefault("settings", TurnSettings())
    options.setdefault("stop_signal", StopSignal())
    return ToolRunner(tools=tools, **options)


def run(*wanted: Call, **options: Any) -> tuple[ToolResult, ...]:
    told: list[tuple[ToolResult, ...]] = []

    async def main() -> None:
        told.append(await shop(**options).run(wanted, anyio.CancelScope()))

    run_with_virtual_clock(main)
    assert [one.call for one in told[0]] == list(wanted)
    return told[0]


@pytest.mark.parametrize(
    ("name", "arguments", "problem", "text"),
    [
        ("give", {"what": "none"}, "", "done"),
        ("give", {"what": "text"}, "", "hi"),
        ("give", {"what": "number"}, "", "5"),
        ("give", {"what": "list"}, "", '[1,null,"a"]'),
        ("give", {"what": "object"}, "", '{"a":{"n":1}}'),
        ("give", {"what": "exact"}, "", "x" * 32_768),
        ("give", {"what": "opaque"}, "not_json", "the result (OpaqueResult) is not JSON"),
        ("give", {"what": "inside"}, "not_json", "the result (dict) is not JSON"),
        ("give", {"what": "loop"}, "not_json", "the result (list) is not JSON"),
        ("give", {"what": "half"}, "not_json", "the result (dict) is not JSON"),
        ("give", {"what": 5}, "bad_arguments", "bad arguments: Expected `str`, got `int` - at `$.what`"),
        ("give", {}, "bad_arguments", "bad arguments: Object missing required field `what`"),
        ("give", {"what": "text", "x": 1}, "bad_arguments", "bad arguments: Object contains unknown field `x`"),
        ("fail", {}, "raised", "the tool failed (KeyError)"),
        ("fail", {"how": "group"}, "raised", "the tool failed (ExceptionGroup)"),
        ("fail", {"how": "timeout"}, "raised", "the tool failed (TimeoutError)"),
        ("fail", {"how": "purpose"}, "refused", "there is no such city"),
        ("fail", {"how": "blank"}, "refused", "failed"),
        ("fail", {"how": "half"}, "refused", "?" + "x" * 999),
        ("hang", {}, "timeout", "not done after 300 seconds"),
        ("brief", {}, "timeout", "not done after 2 seconds"),
        ("brief", {"seconds": 1}, "", "late"),
        ("judge", {"it": {"n": 3}}, "", "3"),
        ("judge", {"it": {"n": -3}}, "bad_arguments", "bad arguments (ValueError)"),
        ("judge", {"it": {"n": 0}}, "refused", "zero is nothing"),
        ("nobody", {}, "unknown_tool", "there is no such tool; there are: give, fail, hang, judge, brief"),
    ],
)  # fmt: skip
def test_every_call_has_an_answer(
    name: str, arguments: Any, problem: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        (one,) = run(Call(name, arguments))

    assert one.problem == problem
    assert one.failed == bool(problem)
    assert (msgspec.json.decode(one.text) if problem else one.text) == (
        {"error": text} if problem else text
    )
    assert SECRET not in one.text + repr(one) + caplog.text


def test_your_own_log_can_have_more(caplog: pytest.LogCaptureFixture) -> None:
    (one,) = run(Call("fail"))
    assert isinstance(one.exception, KeyError)
    line = one.exception.__traceback__.tb_next.tb_lineno  # type: ignore[union-attr]
    assert caplog.messages == [f"tool fail raised KeyError at test_tools.py:{line}"]


@pytest.mark.parametrize("what", ["megabyte", "many"])
def test_a_long_result_is_cut_and_says_so(what: str) -> None:
    (one,) = run(Call("give", {"what": what}))
    assert len(one.text) == 32_768
    assert one.text.endswith("characters, tool_result_chars_max is 32768]")

    (one,) = run(Call("give", {"what": what}), settings=TurnSettings(tool_result_chars_max=1_000))
    assert len(one.text) == 1_000


def test_arguments_that_nest_too_deep_are_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    (one,) = run(Call("give", {"what": deep}))
    assert one.problem == "bad_arguments"


def test_calls_run_at_the_same_time_and_answer_in_order() -> None:
    async def main() -> None:
        began = anyio.current_time()
        wanted = [Call("hang", {"seconds": n}) for n in (10, 8, 9)]
        told = await shop().run(wanted, anyio.CancelScope())
        assert anyio.current_time() - began == 10
        assert [one.seconds for one in told] == [10, 8, 9]
        assert [one.text for one in told] == ["late"] * 3

    run_with_virtual_clock(main)


def test_cancelling_answers_for_what_was_not_done() -> None:
    async def main() -> None:
        scope = anyio.CancelScope()
        wanted = [Call("hang", {"seconds": 1}), Call("hang", {"seconds": 9}), Call("nobody")]
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await anyio.sleep(5)
                scope.cancel()

            tasks.start_soon(stop)
            told = await shop().run(wanted, scope)
        assert [one.problem for one in told] == ["", "stopped", "unknown_tool"]
        assert told[1].seconds == 5
        assert anyio.current_time() == 5

    run_with_virtual_clock(main)


def test_too_many_calls_at_once_are_not_run() -> None:
    told = run(*[Call("give", {"what": "none"})] * (CALLS_MAX + 2))
    assert [one.problem for one in told] == [""] * CALLS_MAX + ["too_many"] * 2


def test_a_tool_that_cancels_itself_has_an_answer_too() -> None:
    async def odd() -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    async def main() -> None:
        told = await shop(Tools([odd, give])).run(
            [Call("odd"), Call("give", {"what": "text"})], anyio.CancelScope()
        )
        assert [one.problem for one in told] == ["stopped", ""]

    anyio.run(main)


def test_a_tool_is_told_who_asks_and_may_speak() -> None:
    said: list[Progress] = []
    stop_signal = StopSignal()

    async def look(context: ToolContext) -> str:
        context.progress("Looking\n it up…")
        context.progress("  ")
        context.progress("x" * 1_000)
        assert context.stop_signal is stop_signal
        assert context.stop_signal.strongest is None
        return f"{context.user_id} {context.channel_id} {context.call.id}"

    look.__annotations__["context"] = ToolContext
    call = Call("look", id="c1")
    (one,) = run(call, tools=Tools([look]), user_id=1, channel_id=2, stop_signal=stop_signal,
                 show=said.append)  # fmt: skip
    assert one.text == "1 2 c1"
    assert [line.text for line in said] == ["Looking it up…", "x" * (PROGRESS_CHARS_MAX - 1) + "…"]
    assert said[0].call is call

    def broken(_: Progress) -> None:
        raise OSError(SECRET)

    (one,) = run(
        call, tools=Tools([look]), user_id=1, channel_id=2, stop_signal=stop_signal, show=broken
    )
    assert one.problem == ""
    (one,) = run(call, tools=Tools([look]), stop_signal=stop_signal)
    assert one.text == "None None c1"
    assert StopRequest().outranks(stop_signal.strongest)
