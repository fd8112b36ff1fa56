"""What a newcomer meets, with a bot and with the programs of the page about embedding."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import json
import logging
import re
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import hikari
import pytest
from aiohttp import web
from attrs import fields

import minamo
from minamo.core.chunks import Chunk
from minamo.core.config import ENVIRONMENT
from minamo.core.result import Status
from minamo.shell.options import ResolvedOptions, StreamOptions
from minamo.shell.providers.base import AdapterUser
from minamo.shell.turns import redis_lease
from minamo.twin import CREATE, Twin
from support.bot import Rig, rigged, served, streaming, until
from support.provider_server import Server, serving, streamed
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


HELLO = b'data: {"choices": [{"delta": {"content": "Hello."}}]}\n\n'


async def hello(request: web.Request) -> web.StreamResponse:
    return await streamed(request, HELLO, b"data: [DONE]\n\n")


class Own(minamo.Adapter):
    """An adapter with something to close."""

    def __init__(self) -> None:
        self.closed = 0

    async def start_stream(self, request: Any) -> Any:
        del request
        for frame in ():
            yield frame

    def process_chunk(self, frame: minamo.Frame) -> list[Chunk]:
        del frame
        return []

    async def close(self) -> None:
        self.closed += 1


async def test_an_adapter_closes_with_the_client_that_used_it(twin: Twin) -> None:
    async with serving(hello) as provider:
        llm = minamo.OpenAICompatible(provider.url, model="m")

        def source(_: Any) -> Any:
            return minamo.fallback(minamo.retry(llm.ask("hi")), llm.ask("ho"))

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            async with rigged(twin, streaming(source)) as rig:
                await rig.ask()
            assert rig.said() == ["Hello."]
            assert llm._http._session is None
            gc.collect()
            await asyncio.sleep(0)
        assert [str(one.message) for one in seen if "nclosed" in str(one.message)] == []


async def test_an_adapter_of_two_clients_closes_with_the_second() -> None:
    own, first, second = Own(), AdapterUser(), AdapterUser()
    for user in (first, second):
        with user.active():
            async for _ in own.ask("hi"):
                pass
    await first.close()
    assert own.closed == 0
    await second.close()
    await second.close()
    assert own.closed == 1


async def test_an_adapter_asked_outside_is_its_owners() -> None:
    own, user = Own(), AdapterUser()
    async for _ in own.ask("hi"):
        pass
    await user.close()
    assert own.closed == 0


async def test_an_adapter_that_cannot_close_does_no_harm(
    twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Own):
        async def close(self) -> None:
            raise RuntimeError("secret")

    own = Broken()
    async with rigged(twin, streaming(lambda _: own.ask("hi"))) as rig:
        await rig.ask()
    assert "an adapter raised RuntimeError when it was closed" in caplog.text
    assert "secret" not in caplog.text


async def test_a_bare_mention_is_a_conversation(twin: Twin) -> None:
    async def answer(rig: Rig, event: Any) -> list[minamo.ChatMessage]:
        return await rig.client.conversation(event)

    async with rigged(twin, answer) as rig:
        [said] = await rig.ask(f"<@{twin.bot.id}>")
    assert said.text == "[a message without text]"


async def test_snowflakes_are_ids_wherever_ids_are(twin: Twin) -> None:
    source = minamo.ScriptedProvider(["Some."], hangs=True)

    async def answer(rig: Rig, event: Any) -> Any:
        async def stop() -> None:
            await asyncio.sleep(0.2)
            stopped = await rig.client.request_stop(
                channel_id=event.channel_id, requester=event.author_id, asker=event.author_id
            )
            assert stopped is minamo.RequestOutcome.YES

        stopping = asyncio.create_task(stop())
        result = await rig.client.stream(event, source)
        await stopping
        return result

    async with rigged(twin, answer) as rig:
        result = await rig.ask()
    assert result.stop_reason == "user_request"


async def refusing(status: int, body: dict[str, Any]) -> Any:
    async def handle(_: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    return handle


def ended(caplog: pytest.LogCaptureFixture) -> str:
    [line] = [one.getMessage() for one in caplog.records if " ended: " in one.getMessage()]
    return line


@pytest.mark.parametrize(("status", "code"), [(401, "bad_key"), (404, "not_found")])
async def test_the_log_says_what_is_wrong_with_a_provider(
    twin: Twin, caplog: pytest.LogCaptureFixture, status: int, code: str
) -> None:
    async with serving(await refusing(status, {"error": {"message": "no"}})) as provider:
        llm = minamo.OpenAICompatible(provider.url, model="m")
        async with rigged(twin, streaming(lambda _: llm.ask("hi"))) as rig:
            await rig.ask()
    assert f"ended: error, api_error ({code}) (0 messages" in ended(caplog)


async def test_the_log_says_that_a_provider_is_unreachable(
    twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    llm = minamo.OpenAICompatible("http://127.0.0.1:9/v1", model="m")
    async with rigged(twin, streaming(lambda _: llm.ask("hi"))) as rig:
        await rig.ask()
    assert "ended: error, api_error (unreachable) (0 messages" in ended(caplog)


async def test_the_log_says_why_a_message_was_lost(
    twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    twin.faults.status(403, on=CREATE, times=None)
    async with rigged(twin, streaming(["Hello."])) as rig:
        result = await rig.ask()
    reason = result.receipts[0].reason
    assert reason
    assert f"ended: error, delivery_lost ({reason}) (0 messages" in ended(caplog)


async def test_one_message_is_not_messages(twin: Twin, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with rigged(twin, streaming(["Hello."])) as rig:
            await rig.ask()
    assert "ended: completed (1 message in" in ended(caplog)


async def test_without_redis_a_mention_is_told_so(
    twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_lease, "AWAY_S", 0.3)
    server = RedisServer(tmp_path)
    lease = minamo.RedisLease(server.url)
    try:
        async with rigged(twin, streaming(["Hello."]), lease=lease) as rig:
            await rig.ask()
            server.kill()
            await rig.ask(f"<@{twin.bot.id}> and now?")
            said = rig.said()
            unaddressed = await rig.ask("not to you")
            assert unaddressed.data.reason == "unreachable"
        assert said[0] == "Hello."
        assert said[1:] == [
            "A part of me cannot be reached right now. Please try again in a few minutes."
        ]
        assert rig.said() == said  # who did not address the bot waits for nothing
    finally:
        server.kill()


README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "docs" / "embedding.md"
TEXT = PAGE.read_text(encoding="utf-8")

PIECES = [
    b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
    for piece in ("Hello ", "there.")
]


async def say(request: web.Request) -> web.StreamResponse:
    return await streamed(request, *PIECES, b"data: [DONE]\n\n")


def programs(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def run(
    blocks: list[str], twin: Twin, provider: Server, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Run programs as they are printed, but for where Discord and the provider are."""
    monkeypatch.setenv("DISCORD_TOKEN", twin.token)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    quiet = {"rest_url": twin.url, "logs": None, "suppress_optimization_warning": True}
    monkeypatch.setattr(hikari, "GatewayBot", functools.partial(hikari.GatewayBot, **quiet))
    monkeypatch.setattr(hikari, "RESTBot", functools.partial(hikari.RESTBot, **quiet))
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n".join(blocks), "page", "exec"), names)
    return names


@asynccontextmanager
async def started(names: dict[str, Any]) -> AsyncIterator[None]:
    await names["bot"].start(check_for_updates=False)
    try:
        yield
    finally:
        await names["bot"].close()
        await names["llm"].close()


async def test_the_bot_of_the_readme_runs(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = programs(README)[0]
    program, ends, rest = bot.partition("\nbot.run()\n")
    assert ends
    assert not rest
    assert len([line for line in bot.splitlines() if line.strip()]) <= 20
    async with serving(say) as provider:
        names = run([program], twin, provider, monkeypatch)
        async with started(names):
            await twin.say("<@1000000000000000000> hi", user="ann")
            await until(lambda: twin.texts() == ["Hello there."])
            await until(lambda: "said: Hello there." in capsys.readouterr().out)


async def test_the_programs_of_the_page_run(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(say) as provider:
        blocks = [one for one in programs(PAGE) if "RESTBot" not in one]
        names = run(blocks, twin, provider, monkeypatch)

        async with started(names):
            await until(lambda: any("ask" in str(shelf) for shelf in twin.world.commands.values()))
            asked = await twin.say("<@1000000000000000000> hi", user="ann")
            await until(lambda: twin.texts() == ["Hello there."])
            assert twin.messages()[-1].reply_to == asked.id
            await twin.slash("ask", {"prompt": "and you?"})
            await until(lambda: twin.texts() == ["Hello there."] * 2)
            app = hikari.RESTApp(url=twin.url)
            await app.start()
            await names["announce"](app, int(twin.channel("news").id), "what is new?")
            await app.close()
            assert twin.texts("news") == ["Hello there."]
            result = await names["in_full"](int(twin.channel("full").id), "and in full?")
            assert (result.status, twin.texts("full")) == ("completed", ["Hello there."])
    said = capsys.readouterr().out
    assert "completed 12" in said
    assert "a reply begins for" in said
    assert re.search(r"a reply ended: \w+ completed", said)
    assert names["counts"] == {"completed": 1}  # the bot's own client; other programs have others
    assert b"and you?" in provider.requests[-3]["body"]


async def test_the_program_without_a_gateway_runs(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = (one for one in programs(PAGE) if "RESTBot" in one)
    async with serving(say) as provider:
        names = run([program], twin, provider, monkeypatch)
        async with served(twin, names["bot"]):
            await twin.slash("ask", {"prompt": "how are you?"})
            await until(lambda: twin.texts() == ["Hello there."])
        await names["llm"].close()
    assert not names["replies"]
    assert b"how are you?" in provider.requests[-1]["body"]


def test_every_option_is_explained() -> None:
    known = {one.name for one in fields(ResolvedOptions)}
    assert known == set(StreamOptions.__annotations__)
    missing = {name for name in known if f"`{name}=" not in TEXT} - {"reply"}
    assert not missing
    assert "`reply=True`" in TEXT


def test_every_option_of_the_client_is_explained() -> None:
    known = set(inspect.signature(minamo.Client).parameters) - {"bot"}
    assert not {name for name in known if f"`{name}=" not in TEXT}


def test_every_number_is_explained_with_its_default() -> None:
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)?) \| (\S+?),? .*\|(?: `(\w+)`)? \|$", TEXT, re.MULTILINE
    )
    told = {name: row for row in rows for name in re.findall(r"\w+", row[0])}
    assert {one.name for one in fields(minamo.StreamConfig)} <= set(told)
    assert {told[setting][2]: setting for setting in ENVIRONMENT.values()} == dict(ENVIRONMENT)
    for one in fields(minamo.StreamConfig):
        if (
            isinstance(one.default, int)
            and not isinstance(one.default, bool)
            and one.name in ENVIRONMENT.values()
        ):
            assert told[one.name][1] == str(int(one.default)), one.name


def test_every_status_is_explained() -> None:
    assert all(f"`{status}`" in TEXT for status in Status.__args__)  # type: ignore[attr-defined]


def test_every_name_is_public() -> None:
    for name in (
        "Client",
        "Persona",
        "Overflow",
        "ThoughtDisplay",
        "AllowedMentions",
        "StreamConfig",
    ):
        assert name in minamo.__all__
