"""Webhooks: the client goes the bot's own way; a persona cannot reply, so a small line above says to what."""

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

from minamo.core.chunks import ErrorChunk
from minamo.core.messages import Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.client import Client
from minamo.shell.delivery.interfaces import Accepted, Rejected, SendOptions, reason_for
from minamo.shell.delivery.persona import ReplyNotice
from minamo.shell.discord.bot import BotSender
from minamo.shell.notices.localization import Languages, Wording
from minamo.shell.notices.notices import notice_for, send_notice
from minamo.shell.notices.thoughts import ThoughtDisplay, tell_thoughts
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, EXECUTE, Permission, Rules, Twin
from minamo.twin.world import Webhook, new_token
from support.lanes import Post, ada, posting, reasons, unpaced

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
    """The twin with a certificate that no authority has signed; its address and that."""
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
    """A webhook of the channel that another application made."""
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


async def test_p20_a_reply_is_announced_once_and_rings_for_nobody() -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        notice = ReplyNotice(guild_id=twin.guild.id, author_id=twin.user().id)
        async with ada(post, notice=notice) as sender:
            how = SendOptions(reply_to=question.id)
            receipts = await post.send("I am Ada.", "And you?", sender=sender, options=how)
        above, first, second = twin.messages()[1:]
        link = f"https://discord.com/channels/{twin.guild.id}/{twin.channel().id}/{question.id}"
        assert above.content == f"-# ↪ replying to <@{twin.user().id}> {link}"
        assert (above.pinged, above.author.name) == ([], "Ada")
        assert above.flags & (1 << 2)
        assert (first.content, second.content) == ("I am Ada.", "And you?")
        assert [one.message_id for one in receipts] == [first.id, second.id]
        assert [one.index for one in receipts] == [0, 1]


async def test_nothing_replied_to_is_not_announced() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post, notice=ReplyNotice()) as sender:
        await post.send("hello", sender=sender)
        assert twin.texts() == ["hello"]


@pytest.mark.parametrize("fault", ["drop", "refuse", "limit"])
async def test_without_its_notice_the_reply_comes_all_the_same(fault: str) -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        if fault == "drop":
            twin.faults.drop(on=EXECUTE)
        elif fault == "refuse":
            twin.faults.status(400, on=EXECUTE)
        else:
            twin.faults.html(on=EXECUTE)
        async with ada(post, notice=ReplyNotice()) as sender:
            receipts = await post.send(
                "Ada.", sender=sender, options=SendOptions(reply_to=question.id)
            )
        assert reasons(receipts) == [("delivered", "")]
        assert twin.texts() == ["Ada."]


async def test_the_bot_itself_replies_without_a_notice() -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        async with ada(post, notice=ReplyNotice()) as sender:
            await post.send("A bot.", sender=sender, options=SendOptions(reply_to=question.id))
        assert twin.texts() == ["A bot."]
        assert twin.messages()[-1].reply_to == question.id
        assert twin.journal.requests(CREATE)[-1].body["enforce_nonce"] is True


async def test_a_notice_above_nothing_is_taken_back() -> None:
    async with Twin(rules=Rules()) as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        async with ada(post, notice=ReplyNotice()) as sender:
            receipts = await post.send(
                " ", sender=sender, options=SendOptions(reply_to=question.id)
            )
        assert reasons(receipts) == [("refused", "empty_message")]
        assert twin.texts() == []


async def test_p18_the_bot_that_takes_over_is_repeated_by_its_nonce() -> None:
    async with Twin() as twin, posting(twin, max_retries=0) as post, ada(post) as sender:
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        twin.faults.drop(on=CREATE, after_effect=True)
        (receipt,) = await post.send("hello", sender=sender)
        assert (receipt.outcome, receipt.attempts) == ("delivered", 2)
        assert twin.texts() == ["hello"]


def test_the_words_may_be_in_any_language() -> None:
    told = ReplyNotice(words="-# ↪ Antwort auf {link}").post(2, 3)
    assert told.text == "-# ↪ Antwort auf https://discord.com/channels/@me/2/3"
    for words in ("no link", "two\nlines {link}"):
        with pytest.raises(BadSetting, match="one line"):
            ReplyNotice(words=words)


QUICK = Rules(rate_limits=False)
THREAD = "POST /channels/{channel}/messages/{message}/threads"


@define
class Threads:
    """Threads below messages of one channel."""

    bot: BotSender

    async def start_thread(self, message_id: int, name: str) -> int | str:
        answer = await self.bot.start_thread(self.bot.place, message_id, name)
        if isinstance(answer, Accepted) and answer.message_id is not None:
            return answer.message_id
        assert isinstance(answer, Rejected)
        return answer.reason


async def tell(
    post: Post, place: ThoughtDisplay, *thoughts: str, channel: str = "general"
) -> list[Receipt]:
    (said,) = await post.send("the reply", channel=channel)
    result = StreamResult(status="completed", thought_log=thoughts, receipts=(said,))
    sender = post.sender(channel)
    told = await tell_thoughts(
        place,
        result,
        lanes=post.lanes,
        sender_for=lambda channel_id: BotSender(post.rest, channel_id),
        channel_id=sender.place,
        stream_id=str(said.message_id),
        wording=Wording(),
        threads=Threads(sender),
    )
    return list(told)


@pytest.mark.parametrize("locale", ["en", "de", "ja"])
async def test_a_notice_stands_after_the_reply(locale: str) -> None:
    failed = StreamResult(
        status="error", data=ErrorChunk("rate_limit", retry_after=7.2), accumulated_text="x"
    )
    notice = notice_for(failed, Languages().wording(locale))
    assert notice is not None
    async with Twin() as twin, posting(twin) as post:
        twin.faults.latency_s = 0.05
        sender = post.sender()
        reply = post.open(["one", "two"])
        reply.close()
        asked = await twin.say("@everyone?")
        receipt = await send_notice(
            post.lanes, sender, sender.place, notice, stream_id="s", reply_to=asked.id
        )
        assert receipt.delivered
        last = twin.messages()[-1]
        assert twin.texts() == ["one", "two", ""]
        assert (receipt.message_id, last.reply_to) == (last.id, asked.id)
        (embed,) = last.embeds
        assert (embed["title"], embed["description"]) == (notice.title, notice.description)
        assert "8" in embed["description"], "the wait, rounded up"


async def test_a_notice_where_embeds_are_not_allowed_is_only_a_receipt() -> None:
    async with Twin() as twin, posting(twin) as post:
        twin.deny("general", Permission.EMBED_LINKS)
        notice = notice_for(StreamResult(status="timeout"), Wording())
        assert notice is not None
        sender = post.sender()
        told = await send_notice(post.lanes, sender, sender.place, notice, stream_id="s")
        assert (told.outcome, told.reason) == ("refused", "no_permission")
        assert (await post.send("all the same"))[0].delivered


async def test_a_long_log_is_taken_by_discord_in_order() -> None:
    async with Twin(rules=QUICK) as twin, posting(twin, pacer=unpaced()) as post:
        log = twin.channel("log")
        thoughts = [f"{n} @everyone " + "so it is " * 400 for n in range(6)]
        told = await tell(post, ThoughtDisplay("log", channel_id=log.id), *thoughts)
        assert {one.outcome for one in told} == {"delivered"}
        embeds = [one for message in twin.messages(log) for one in message.embeds]
        assert len(embeds) == len(told) > 5
        assert [one.get("title") or "" for one in embeds][:2] == ["Thoughts", ""]
        shown = " ".join(one["description"] for one in embeds)
        assert shown.split() == " ".join(thoughts).split()
        assert twin.texts() == ["the reply"]


async def test_a_log_channel_that_is_gone_hurts_nobody() -> None:
    async with Twin() as twin, posting(twin) as post:
        log = twin.channel("log")
        twin.delete_channel(log)
        told = await tell(post, ThoughtDisplay("log", channel_id=log.id), "hm " * 5_000)
        assert reasons(told) == [("refused", "unknown_channel")]
        assert twin.texts() == ["the reply"]


async def test_a_spoiler_stands_below_the_reply() -> None:
    async with Twin(rules=QUICK) as twin, posting(twin, pacer=unpaced()) as post:
        ann = twin.user("ann").id
        told = await tell(
            post, ThoughtDisplay("spoiler"), f"<@{ann}> || @everyone \\", "second " * 500
        )
        assert all(one.delivered for one in told)
        reply, *hidden = twin.texts()
        assert reply == "the reply"
        assert len(hidden) == len(told) == 2
        assert all(text[:2] == text[-2:] == "||" and text.count("||") == 2 for text in hidden)
        assert [one.pinged for one in twin.messages()] == [[], [], []]


async def test_a_thread_holds_the_thoughts() -> None:
    async with Twin() as twin, posting(twin) as post:
        told = await tell(post, ThoughtDisplay("thread"), "first", "second")
        assert [one.delivered for one in told] == [True]
        thread = twin.world.channels[told[0].channel_id]
        assert (thread.is_thread, thread.name) == (True, "Thoughts")
        assert twin.messages()[-1].thread_id == thread.id
        assert twin.texts(thread) == ["first\n\nsecond"]


async def test_where_no_thread_may_be_there_is_none() -> None:
    async with Twin() as twin, posting(twin) as post:
        twin.deny("general", Permission.CREATE_PUBLIC_THREADS)
        assert reasons(await tell(post, ThoughtDisplay("thread"), "hm")) == [
            ("not_sent", "no_permission")
        ]
        twin.thread("talk", "other")
        told = await tell(post, ThoughtDisplay("thread"), "hm", channel="talk")
        assert reasons(told) == [("not_sent", "wrong_kind_of_channel")]
        assert twin.texts("talk") == ["the reply"]


async def test_a_thread_that_takes_for_ever_does_not_hold_up_the_reply() -> None:
    async with Twin() as twin, posting(twin, max_retries=0) as post:
        twin.faults.stall(on=THREAD)
        (said,) = await post.send("the reply")
        result = StreamResult(status="completed", thought_log=("hm",), receipts=(said,))
        async with asyncio.timeout(5):
            told = await tell_thoughts(
                ThoughtDisplay("thread"),
                result,
                lanes=post.lanes,
                sender_for=lambda channel_id: BotSender(post.rest, channel_id),
                channel_id=twin.channel().id,
                stream_id="s",
                wording=Wording(),
                threads=Threads(post.sender()),
                deadline_s=0.2,
            )
        assert reasons(told) == [("not_sent", "deadline")]
        assert twin.journal.count(CREATE) == 1


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (403, 50013, "no_permission"),
        (400, 50024, "wrong_kind_of_channel"),
        (403, 50278, "direct_messages_closed"),
        (403, 0, "forbidden"),
        (413, 0, "too_large"),
        (418, 99_999, "http_418"),
    ],
)
def test_a_code_says_more_than_a_status(status: int, code: int, reason: str) -> None:
    assert reason_for(status, code) == reason
