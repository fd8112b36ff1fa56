"""The shape of the code: short ways of a reply, no machines hidden in booleans, no slow regular expression.

One test counts a whole reply, from `Client.stream` to its result; the other the way of one chunk
that completes a message, from its bytes to hikari's `create_message`.  The limits are what the code
needs today, with a little room.  A change that needs more adds a detour to every reply: look for
the forwarder before you raise them.

Rules about when are in charts.  Three booleans that change are eight states, of which few are meant.
A class with as many is a chart or one Enum; those below are neither, each for its own reason.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import hikari
import pytest
from aiohttp import web

import minamo
from minamo.twin import Twin
from support.regexes import Pattern, patterns

pytestmark = pytest.mark.anyio

REPLY_FUNCTIONS_MAX = 335
REPLY_MODULES_MAX = 45
CHUNK_FUNCTIONS_MAX = 108
CHUNK_MODULES_MAX = 25

HOME = Path(minamo.__file__).parent
TWIN = HOME / "twin"
WORDS = ["Hello ", "there, ", "this is ", "a plain ", "reply.\n\n", "And a ", "second ", "one."]
# What follows a paragraph proves that it has ended.
COMPLETES_A_MESSAGE = 5
# Long enough for a typing indicator on loopback; then nothing but the chunk is under way.
QUIET_S = 0.2
CREATE_MESSAGE = hikari.impl.RESTClientImpl.create_message.__code__

# No functions of their own: Python 3.12 runs them where they are written.
IN_PLACE = ("<listcomp>", "<dictcomp>", "<setcomp>")

Place = tuple[Path, str]


def place_of(frame: FrameType) -> Place | None:
    """The module and the function of a frame; None if it is no function of minamo's."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name in IN_PLACE:
        return None
    if not path.is_relative_to(HOME) or path.is_relative_to(TWIN):
        return None
    return path, frame.f_code.co_qualname


class Walk:
    """The functions of minamo that run, each once, in the order in which they began."""

    def __init__(self) -> None:
        self.places: dict[Place, None] = {}

    @property
    def modules(self) -> set[Path]:
        return {path for path, _ in self.places}

    def called(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`: every function that is called."""
        if event == "call" and (place := place_of(frame)) is not None:
            self.places.setdefault(place)

    def traced(self, frame: FrameType, _: str, __: Any) -> Any:
        """For `sys.settrace`: every function that runs a line of its own, until the call.

        A coroutine that only waits for another one runs none.
        """
        if frame.f_code is CREATE_MESSAGE:
            sys.settrace(None)
        place = place_of(frame)
        if place is None or sys.gettrace() is None:
            return None

        def line(_: FrameType, event: str, __: Any) -> Any:
            if event == "line" and sys.gettrace() is not None:
                self.places.setdefault(place)
            return line

        return line

    def check(self, functions_max: int, modules_max: int) -> None:
        listed = "\n".join(f"{path.relative_to(HOME)} {name}" for path, name in self.places)
        assert len(self.places) <= functions_max, listed
        names = sorted(str(path.relative_to(HOME)) for path in self.modules)
        assert len(names) <= modules_max, names


class Provider:
    """A provider that speaks OpenAI's dialect; it may begin to trace at one of its chunks."""

    trace: Callable[[FrameType, str, Any], Any] | None = None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, word in enumerate(WORDS):
            delta = {"choices": [{"index": 0, "delta": {"content": word}}]}
            data = b"data: " + json.dumps(delta).encode() + b"\n\n"
            if number == COMPLETES_A_MESSAGE and self.trace is not None:
                await asyncio.sleep(QUIET_S)
                sys.settrace(self.trace)
                await response.write(data)
                await asyncio.sleep(QUIET_S)
            else:
                await response.write(data)
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        await response.write(b"data: " + json.dumps(end).encode() + b"\n\ndata: [DONE]\n\n")
        return response


@asynccontextmanager
async def steady() -> AsyncIterator[tuple[Provider, Callable[[], Any]]]:
    """A provider and a function that has a bot reply; one reply was sent before."""
    provider = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.chat)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    async with Twin() as twin:
        bot = hikari.GatewayBot(
            twin.token, rest_url=twin.url, banner=None, logs=None,
            suppress_optimization_warning=True,
        )  # fmt: skip
        client = minamo.Client(bot)
        await bot.start(check_for_updates=False)
        try:
            async with minamo.OpenAICompatible(url, model="m") as llm:
                channel = twin.channel("general").id
                await client.stream(channel, llm.ask("warm up"))
                yield provider, lambda: client.stream(channel, llm.ask("hi"))
        finally:
            await bot.close()
            await runner.cleanup()


async def test_a_plain_reply_takes_few_functions(figure: Callable[[str], None]) -> None:
    walk = Walk()
    async with steady() as (_, reply):
        sys.setprofile(walk.called)
        try:
            result = await reply()
        finally:
            sys.setprofile(None)
    assert result.accumulated_text == "".join(WORDS)
    figure(f"a plain reply: {len(walk.places)} functions in {len(walk.modules)} modules")
    walk.check(REPLY_FUNCTIONS_MAX, REPLY_MODULES_MAX)


async def test_a_chunk_takes_few_functions(figure: Callable[[str], None]) -> None:
    walk, before = Walk(), sys.gettrace()
    async with steady() as (provider, reply):
        provider.trace = walk.traced
        try:
            result = await reply()
        finally:
            sys.settrace(before)
    assert result.accumulated_text == "".join(WORDS)
    names = [name for _, name in walk.places]
    assert (names[0], names[-1]) == ("_ReadTimeout.read", "answer_of"), "from bytes to the call"
    figure(f"a chunk to its call: {len(names)} functions in {len(walk.modules)} modules")
    walk.check(CHUNK_FUNCTIONS_MAX, CHUNK_MODULES_MAX)


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


SIZE = 1_200
FLOOR_S = 0.002

PATTERNS = patterns("minamo.core", "minamo.wire", "minamo.shell", "minamo.bot", "minamo.inspect")


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_p07_a_regular_expression_is_linear(pattern: Pattern) -> None:
    assert pattern.is_linear(SIZE, FLOOR_S), pattern.slowest(SIZE)


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (r" *(?:(>>>|>)[ \t])?\s*", "fullmatch"),
        (r"\s*\s*\s*:", "match"),
    ],
)
def test_slow_expressions_are_found(expression: str, method: str) -> None:
    pattern = Pattern("", re.compile(expression), frozenset({method}))
    assert not pattern.is_linear(SIZE, FLOOR_S)
