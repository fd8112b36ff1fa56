"""The client for webhooks goes the bot's own way, and speaks with the bot's own webhooks only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import hikari
import pytest
import trustme
from aiohttp import web
from attrs import define, field

from minamo.shell.client import Client
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import EXECUTE, Twin
from minamo.twin.world import Webhook, new_token
from support.lanes import ada, posting

pytestmark = pytest.mark.anyio

CREATE_WEBHOOK = "POST /channels/{channel}/webhooks"
APPLICATION = "GET /oauth2/applications/@me"


@define
class Proxy:
    """A plain HTTP proxy, and whom it was asked for."""

    url: str = ""
    asked: list[str] = field(factory=list)

    async def handle(self, request: web.BaseRequest) -> web.Response:
        where = request.raw_path
        self.asked.append(f"{request.method} {urlsplit(where).path}")
        drop = {"Host", "Proxy-Connection", "Transfer-Encoding", "Content-Length"}
        headers = {name: value for name, value in request.headers.items() if name not in drop}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method, where, data=await request.read(), headers=headers
            ) as answer,
        ):
            kept = {name: value for name, value in answer.headers.items() if name not in drop}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


@asynccontextmanager
async def proxying() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    runner = web.ServerRunner(web.Server(proxy.handle, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    proxy.url = f"http://{host}:{port}"
    try:
        yield proxy
    finally:
        await runner.cleanup()


async def speak(url: str, twin: Twin, **settings: Any) -> Any:
    """A persona speaks, through a bot with network settings of its own."""
    app = hikari.RESTApp(url=url, **settings)
    await app.start()
    try:
        async with app.acquire(twin.token, "Bot") as rest, Client(rest) as client:
            place = twin.channel().id
            return await client.stream(place, ScriptedProvider(["Hello."]), persona=Persona("Mira"))
    finally:
        await app.close()


async def test_webhooks_go_through_the_bots_proxy() -> None:
    async with Twin() as twin, proxying() as proxy:
        settings = hikari.impl.ProxySettings(url=proxy.url)
        result = await speak(twin.url, twin, proxy_settings=settings)
        assert result.status == "completed"
        assert [one.author.name for one in twin.messages()] == ["Mira"]
        made = [f"{one.method} {one.path}" for one in twin.journal.requests()]
        assert len(proxy.asked) == len(made)  # nothing went past it
        assert any("/webhooks/" in one and one.startswith("POST") for one in proxy.asked)


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """A key and a certificate for this machine, and the authority that vouches for it."""
    authority = trustme.CA()
    made = authority.issue_cert("localhost")
    key, chain, known = folder / "key.pem", folder / "chain.pem", folder / "known.pem"
    made.private_key_pem.write_to_path(key)
    for blob in made.cert_chain_pems:
        blob.write_to_path(chain, append=True)
    authority.cert_pem.write_to_path(known)
    return key, chain, known


@asynccontextmanager
async def behind_tls(twin: Twin, folder: Path) -> AsyncIterator[tuple[str, Path]]:
    """The twin with a certificate that nobody in the world knows; its address and that."""
    key, chain, known = _certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    there = urlsplit(twin.url)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await asyncio.open_connection(there.hostname, there.port)
        await asyncio.gather(pump(reader, behind[1]), pump(behind[0], writer))

    server = await asyncio.start_server(serve, "localhost", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"https://localhost:{port}{there.path}", known
    finally:
        server.close()


async def test_webhooks_trust_whom_the_bot_trusts(tmp_path: Path) -> None:
    async with Twin() as twin, behind_tls(twin, tmp_path) as (url, known):
        trusting = hikari.impl.HTTPSettings(ssl=ssl.create_default_context(cafile=str(known)))
        result = await speak(url, twin, http_settings=trusting)
        assert result.status == "completed"
        assert [one.author.name for one in twin.messages()] == ["Mira"]


async def test_a_gateway_bots_settings_are_taken_over() -> None:
    async with Twin() as twin:
        proxy = hikari.impl.ProxySettings(url="http://127.0.0.1:1")
        timeouts = hikari.impl.HTTPTimeoutSettings(total=7.0)
        bot = hikari.GatewayBot(
            twin.token,
            rest_url=twin.url,
            banner=None,
            logs=None,
            proxy_settings=proxy,
            http_settings=hikari.impl.HTTPSettings(ssl=False, timeouts=timeouts),
        )
        client = Client(bot)
        runtime = await client._host.runtime()
        ours = runtime.webhooks.http_settings
        assert runtime.webhooks.proxy_settings is proxy
        assert (ours.ssl, ours.timeouts) == (bot.http_settings.ssl, timeouts)
        await client.close()


def foreign(twin: Twin, application_id: int | None) -> Webhook:
    """A webhook of the channel that somebody else made."""
    place = twin.channel()
    made = Webhook(
        twin.world.new_id(),
        place.id,
        twin.guild.id,
        "theirs",
        new_token(),
        application_id=application_id,
    )
    twin.world.webhooks[made.id] = made
    return made


@pytest.mark.parametrize("whose", ["a person's", "another application's"])
async def test_nobody_elses_webhook_is_used(whose: str) -> None:
    async with Twin() as twin, posting(twin) as post:
        theirs = foreign(twin, None if whose == "a person's" else twin.world.new_id())
        for _ in range(2):
            async with ada(post) as sender:
                (receipt,) = await post.send("hello", sender=sender)
                assert receipt.delivered
        assert theirs.id not in {one.webhook_id for one in twin.messages()}
        # Its own, once made, is found again.
        assert twin.journal.count(CREATE_WEBHOOK) == 1
        assert twin.journal.count(EXECUTE) == 2


async def test_the_application_is_asked_for_once(twin: Twin) -> None:
    app = hikari.RESTApp(url=twin.url)
    await app.start()
    async with app.acquire(twin.token, "Bot") as rest, Client(rest) as client:
        for _ in range(3):
            place = twin.channel().id
            await client.stream(place, ScriptedProvider(["Hello."]), persona=Persona("Mira"))
    await app.close()
    assert twin.journal.count(APPLICATION) == 1
    assert twin.journal.count(CREATE_WEBHOOK) == 1
