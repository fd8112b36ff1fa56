"""What a newcomer meets: connections that close, ids as they come, reasons in the log."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import minamo
from minamo.core.chunks import Chunk
from minamo.shell.providers.base import AdapterUser
from minamo.shell.turns import redis_lease
from minamo.twin import CREATE, Twin
from support.bot import Rig, rigged, streaming
from support.provider_server import serving, streamed
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
