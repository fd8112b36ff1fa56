"""Every program of examples/ runs as it is, on the twin, with a real HTTP provider."""

from __future__ import annotations

import functools
import io
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yarl
from aiohttp import web
from opentelemetry.sdk.metrics import export as metrics
from opentelemetry.sdk.trace import export as spans

from minamo.twin import CREATE, EDIT, EXECUTE, Twin
from support.bot import served
from support.example_programs import (
    EXAMPLES,
    Delta,
    ModelServer,
    call,
    close,
    load_example,
    place,
    saying,
    serving,
    started,
    text,
    until,
)
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


TESTED_HERE = {
    "beside_discord_py", "edit_in_place", "memory", "minimal", "own_adapter", "persona", "quiz/bot", "rest_bot", "telemetry",
    "two_processes", "with_arc", "with_crescent", "with_tanjun", "with_tools",
}  # fmt: skip


def test_no_example_is_forgotten() -> None:
    programs = (path.relative_to(EXAMPLES).with_suffix("") for path in EXAMPLES.rglob("*.py"))
    there = {path.as_posix() for path in programs if path.parts[0] != "testing"}
    assert there == TESTED_HERE | {"with_lightbulb"}  # tests/oldest, with the hikari it needs


@asynccontextmanager
async def running(
    name: str, twin: Twin, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ModuleType]:
    async with serving(model):
        place(twin, model.url, monkeypatch)
        program = load_example(name)
        async with started(program.bot, program.llm):
            yield program


async def test_minimal(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running("minimal", twin, saying("Hello ", "there."), monkeypatch):
        await twin.say("not for the bot")
        await twin.say(f"<@{twin.bot.id}> hi")
        await until(lambda: "completed 12" in capsys.readouterr().out)
        assert twin.texts() == ["Hello there."]
    lines = (EXAMPLES / "minimal.py").read_text(encoding="utf-8").split('"""')[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 22


async def test_memory(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saying("Aye.")
    async with running("memory", twin, model, monkeypatch):
        await twin.say(f"<@{twin.bot.id}> what do you see?", user="ann")
        await until(lambda: twin.texts() == ["Aye."])
        await twin.reply(twin.messages()[-1], f"<@{twin.bot.id}> and now?", user="bob")
        await until(lambda: twin.texts() == ["Aye."] * 2)
        await twin.say(f"<@{twin.bot.id}>", user="cy")
        await until(lambda: len(twin.texts()) == 3)
    roles = [message["role"] for message in model.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "what do you see?" in json.dumps(model.bodies[1])
    assert "[a message without text]" in json.dumps(model.bodies[2])


@pytest.mark.parametrize("name", ["with_arc", "with_crescent", "with_tanjun"])
async def test_a_framework(name: str, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saying("One.\n\n", "Two.")
    async with serving(model):
        place(twin, model.url, monkeypatch)
        program = load_example(name)
        llm = program.model.llm if name == "with_crescent" else program.llm
        async with started(program.bot, llm):
            if name != "with_tanjun":  # which declares nothing with this hikari
                await until(lambda: "ask" in str(twin.world.commands))
            await twin.slash("ask", {"question": "why?"})
            await until(lambda: twin.texts() == ["One.", "Two."])
    assert twin.journal.count(CREATE) == 0  # all of it answered the interaction
    assert "why?" in json.dumps(model.bodies)


async def test_rest_bot(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saying("Hello.")
    async with serving(model):
        place(twin, model.url, monkeypatch)
        program = load_example("rest_bot")
        async with served(twin, program.bot):
            await twin.slash("ask", {"question": "how are you?"})
            await until(lambda: twin.texts() == ["Hello."])
        await close(program.llm)
    assert not program.replies


@pytest.mark.filterwarnings("ignore:'audioop' is deprecated:DeprecationWarning")
async def test_beside_discord_py(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    monkeypatch.setattr(Route, "BASE", twin.url)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(twin.gateway_url))
    model = saying("One.\n\n", "Two.")
    async with serving(model):
        place(twin, model.url, monkeypatch)
        program = load_example("beside_discord_py")
        async with twin.running(program.bot):
            await twin.say("not for the bot")
            await twin.say("hi", mention=True)
            await until(lambda: twin.texts() == ["One.", "Two."])
    assert len(model.bodies) == 1


async def test_with_tools(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(body: Delta) -> list[Delta]:
        last = body["messages"][-1]
        if last["role"] != "tool":
            return call("roll", sides=6, times=3)
        return text(f"You rolled {sum(json.loads(last['content'])) > 0}.")

    async with running("with_tools", twin, ModelServer(answer), monkeypatch):
        await twin.say(f"<@{twin.bot.id}> three dice")
        await until(lambda: twin.texts()[-1:] == ["You rolled True."])
        assert any("Rolling 3d6" in message for message in twin.texts())


async def test_persona(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(body: Delta) -> list[Delta]:
        return text("Sunny!" if "Mira" in str(body["messages"][0]) else "Rain.")

    model = ModelServer(answer)
    async with running("persona", twin, model, monkeypatch):
        await twin.say(f"<@{twin.bot.id}> the weather?")
        await until(lambda: twin.texts() == ["Sunny!", "Rain."])
    assert [message.author.name for message in twin.messages()[1:]] == ["Mira", "Orlo"]
    assert twin.journal.count(EXECUTE) == 2
    assert "Sunny!" in json.dumps(model.bodies[1])


async def test_edit_in_place(twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    async with running("edit_in_place", twin, saying("One. ", "Two. ", hangs=True), monkeypatch):
        await twin.say(f"<@{twin.bot.id}> count", user="ann")
        await until(lambda: twin.texts() == ["One. Two."])
        live = twin.messages()[-1]
        await twin.click(live, live.components[0]["components"][0]["custom_id"], user="ann")
        await until(lambda: "stopped_by_user user_request" in capsys.readouterr().out)
    assert twin.journal.count(EDIT) >= 1
    assert twin.journal.count(CREATE) == 1


async def test_own_adapter(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    async def respond(request: web.Request) -> web.Response:
        said = (await request.text()).partition("> ")[2]
        return web.Response(body=f'"You said "\n"{said}."\n"."\n'.encode())

    app = web.Application()
    app.router.add_post("/", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("LINES_URL", f"http://127.0.0.1:{runner.addresses[0][1]}/")
    place(twin, "", monkeypatch)
    program = load_example("own_adapter")
    program.check()
    async with started(program.bot):
        await twin.say(f"<@{twin.bot.id}> hi")
        await until(lambda: twin.texts() == ["You said hi."])
        monkeypatch.setenv("LINES_URL", "http://127.0.0.1:1/")  # nothing listens there
        await twin.say(f"<@{twin.bot.id}> hi", channel="other")
        await until(lambda: bool(twin.messages("other")[-1].embeds))
    await runner.cleanup()


async def test_quiz(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    place(twin, "", monkeypatch)
    program = load_example("quiz/bot")
    async with started(program.bot):
        for said, last in (
            ("!quiz", program.QUESTION),
            ("mars", "No."),
            ("!hint", program.HINTS[0]),
            ("!hint", program.HINTS[1]),
            ("!hint", "That was all I know."),
            (" Jupiter ", "Yes!"),
        ):
            await twin.say(said)
            await until(lambda last=last: twin.texts()[-1:] == [last])  # type: ignore[misc]
        await until(lambda: not program.quizzes)
        await twin.say("!quiz")
        await until(lambda: twin.texts()[-1] == program.QUESTION)
        await twin.say("!where")
        await until(lambda: bool(twin.messages()[-1].files))
        program.quizzes[twin.channel().id].send("time_over")
        await until(lambda: twin.texts()[-1] == "It is Jupiter.")
        for task in program.tasks:
            task.cancel()


async def test_two_processes(
    twin: Twin, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    model = saying("One.\n\n", "Two.", hangs=True)
    async with serving(model):
        place(twin, model.url, monkeypatch)
        first, second = load_example("two_processes"), load_example("two_processes")
        async with started(first.bot, first.llm), started(second.bot, second.llm):
            await twin.say(f"<@{twin.bot.id}> hi", user="ann")
            await until(lambda: twin.texts() == ["One."])
            live = twin.messages()[-1]
            button = live.components[0]["components"][0]["custom_id"]
            await twin.click(live, button, user="ann")
            await until(lambda: "stopped_by_user user_request" in capsys.readouterr().out)
    public = [message for message in twin.messages() if not message.is_ephemeral]
    assert [message.content for message in public[1:]] == ["One.", "Two."]
    assert len(model.bodies) == 1  # one of the two asked the model


async def test_telemetry(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    # The exporters take the standard output that there was when they were imported.
    told = io.StringIO()
    for package, name in ((metrics, "ConsoleMetricExporter"), (spans, "ConsoleSpanExporter")):
        made = functools.partial(getattr(package, name), out=told)
        monkeypatch.setattr(package, name, made)
    async with running("telemetry", twin, saying("A secret."), monkeypatch):
        await twin.say(f"<@{twin.bot.id}> hi")
        await until(lambda: twin.texts() == ["A secret."])
    for name in (
        '"name": "stream"', '"name": "chat any"', '"name": "discord create"',
        "gen_ai.client.operation.duration", "gen_ai.client.operation.time_to_first_chunk",
        "minamo.messages",
    ):  # fmt: skip
        assert name in told.getvalue()
    assert "secret" not in told.getvalue()


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=55,
    )  # fmt: skip


def copied(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
    folder = shutil.copytree(EXAMPLES / "testing", tmp_path / "mine", ignore=ignored)
    profile = folder / "conftest.py"
    words = profile.read_text(encoding="utf-8")
    assert "max_examples=50" in words
    profile.write_text(words.replace("max_examples=50", "max_examples=10"), encoding="utf-8")
    return folder


def test_the_tests_pass(tmp_path: Path) -> None:
    done = run(copied(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_wrong_expectation_fails_at_once_and_shows_the_journal(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    file = folder / "test_bot.py"
    words = file.read_text(encoding="utf-8")
    assert "== asked.id" in words
    file.write_text(words.replace("== asked.id", "== 7"), encoding="utf-8")
    (folder / "test_sequences.py").unlink()
    done = run(folder)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "the twin's journal" in done.stdout
