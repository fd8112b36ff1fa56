"""A real GatewayBot lives on the twin, and outlives what the twin does to it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import aiohttp
import hikari
import pytest

from minamo.twin import CREATE, Rules, Twin
from minamo.twin.server import gateway as compression
from support.waiting import until

pytestmark = pytest.mark.anyio
NewBot = Callable[..., hikari.GatewayBot]


def echo(bot: hikari.GatewayBot) -> None:
    @bot.listen()
    async def on_message(event: hikari.MessageCreateEvent) -> None:
        if event.is_human:
            await event.message.respond(f"you said {event.content!r}", reply=True)


async def answered(twin: Twin, text: str) -> None:
    await twin.journal.until(lambda: f"you said {text!r}" in twin.texts())


async def test_a_bot_starts_hears_and_replies(twin: Twin, bot: hikari.GatewayBot) -> None:
    echo(bot)
    said = await twin.say("hello")
    await answered(twin, "hello")
    reply = twin.messages()[-1]
    assert (reply.reply_to, reply.author.id) == (said.id, twin.bot.id)
    await twin.reply(reply, "again")
    await answered(twin, "again")


async def test_the_cache_knows_the_server(twin: Twin, bot: hikari.GatewayBot) -> None:
    await until(lambda: bot.cache.get_guild_channel(twin.channel().id))
    late = twin.channel("late")
    await until(lambda: bot.cache.get_guild_channel(late.id))
    assert bot.get_me() is not None


async def test_it_hears_its_own_messages_with_their_nonce(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    heard: list[hikari.MessageCreateEvent] = []
    bot.subscribe(hikari.MessageCreateEvent, _keep(heard))
    sent = await bot.rest.create_message(twin.channel().id, "x", nonce="n1")
    await until(lambda: heard)
    assert (heard[0].message.id, heard[0].message.nonce) == (sent.id, "n1")
    await bot.rest.edit_message(twin.channel().id, sent, "y")
    (update,) = twin.journal.events("MESSAGE_UPDATE")
    assert "nonce" not in update.data


def _keep(heard: list[Any]) -> Any:
    async def listener(event: hikari.MessageCreateEvent) -> None:
        heard.append(event)

    return listener


async def test_edits_deletions_typing_and_direct_messages_arrive(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    heard: list[Any] = []
    for kind in (
        hikari.GuildMessageUpdateEvent,
        hikari.GuildMessageDeleteEvent,
        hikari.GuildTypingEvent,
        hikari.DMMessageCreateEvent,
    ):
        bot.subscribe(kind, _keep(heard))
    said = await twin.say("hello")
    await twin.edit(said, "goodbye")
    await twin.delete(said)
    await bot.rest.trigger_typing(twin.channel().id)
    await twin.say("psst", channel=twin.dm())
    await until(lambda: len(heard) == 4)
    assert [type(one).__name__ for one in heard] == [
        "GuildMessageUpdateEvent",
        "GuildMessageDeleteEvent",
        "GuildTypingEvent",
        "DMMessageCreateEvent",
    ]


@pytest.mark.parametrize("fault", ["500", "502", "drop", "user", "global", "shared"])
async def test_it_answers_all_the_same(twin: Twin, bot: hikari.GatewayBot, fault: str) -> None:
    echo(bot)
    await bot.rest.create_message(twin.channel().id, "warm")
    if fault.isdigit():
        planned = twin.faults.status(int(fault), on=CREATE)
    elif fault == "drop":
        planned = twin.faults.drop(on=CREATE)
    else:
        planned = twin.faults.limited(0.2, on=CREATE, scope=fault)
    await twin.say("hello")
    await answered(twin, "hello")
    assert planned.happened == 1
    assert len(twin.texts()) == 2


async def test_reconnect_is_resumed_and_nothing_is_missed(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    echo(bot)
    twin.reconnect()
    await twin.journal.until(lambda: twin.journal.events("DISCONNECTED"))
    await twin.say("while you were away")
    await answered(twin, "while you were away")
    assert twin.journal.events("RESUME", sent=False)
    assert len(twin.journal.events("IDENTIFY", sent=False)) == 1


@pytest.mark.parametrize("resumable", [True, False])
async def test_an_invalid_session_begins_anew(
    twin: Twin, bot: hikari.GatewayBot, resumable: bool
) -> None:
    echo(bot)
    twin.invalidate(resumable=resumable)
    again = "RESUMED" if resumable else "READY"
    count = 1 if resumable else 2
    await twin.journal.until(lambda: len(twin.journal.events(again)) == count)
    await twin.say("hello")
    await answered(twin, "hello")


async def test_a_closed_connection_is_resumed(twin: Twin, bot: hikari.GatewayBot) -> None:
    echo(bot)
    twin.disconnect(4000)
    await twin.journal.until(lambda: twin.journal.events("RESUMED"))
    await twin.say("hello")
    await answered(twin, "hello")


async def test_a_deaf_gateway_is_noticed(new_bot: NewBot) -> None:
    async with Twin(rules=Rules(heartbeat_interval_ms=50)) as twin:
        bot = new_bot(twin)
        await bot.start(check_for_updates=False)
        twin.faults.gateway_deaf = True
        await twin.journal.until(lambda: twin.journal.events("DISCONNECTED"))
        twin.faults.gateway_deaf = False
        await bot.close()


async def test_it_starts_although_the_first_request_fails(twin: Twin, new_bot: NewBot) -> None:
    twin.faults.drop(on="GET /gateway/bot")
    bot = new_bot(twin)
    await bot.start(check_for_updates=False)
    await bot.close()
    assert twin.journal.count("GET /gateway/bot") == 2


async def test_a_wrong_token_is_turned_away(twin: Twin, new_bot: NewBot) -> None:
    bot = new_bot(twin)
    twin._discord.gateway.token = "another"
    with pytest.raises(hikari.GatewayServerClosedConnectionError) as caught:
        await bot.start(check_for_updates=False)
    assert caught.value.code == 4004
    await bot.rest.close()  # a start that failed leaves it open


async def test_intents_that_were_not_switched_on_are_turned_away(new_bot: NewBot) -> None:
    async with Twin(rules=Rules(privileged_intents=0)) as twin:
        bot = new_bot(twin)
        with pytest.raises(hikari.GatewayServerClosedConnectionError) as caught:
            await bot.start(check_for_updates=False)
        assert caught.value.code == 4014
        await bot.rest.close()


async def test_without_message_content_only_what_is_meant_for_the_bot_is_read(
    new_bot: NewBot,
) -> None:
    heard: list[hikari.MessageCreateEvent] = []
    async with Twin(rules=Rules(privileged_intents=0)) as twin:
        bot = new_bot(twin, intents=hikari.Intents.ALL_UNPRIVILEGED)
        bot.subscribe(hikari.MessageCreateEvent, _keep(heard))
        await bot.start(check_for_updates=False)
        await twin.say("secret")
        await twin.say(f"for you <@{twin.bot.id}>")
        await twin.say("in private", channel=twin.dm())
        await until(lambda: len(heard) == 3)
        await bot.close()
    texts = [one.content for one in heard]
    assert texts == [None, f"for you <@{twin.bot.id}>", "in private"]


async def test_intents_that_were_not_asked_for_bring_nothing(new_bot: NewBot) -> None:
    heard: list[Any] = []
    async with Twin() as twin:
        bot = new_bot(twin, intents=hikari.Intents.DM_MESSAGES)
        bot.subscribe(hikari.MessageCreateEvent, _keep(heard))
        await bot.start(check_for_updates=False)
        await twin.say("in the server")
        await twin.say("in private", channel=twin.dm())
        await until(lambda: heard)
        await bot.close()
    assert len(heard) == 1


# The wire itself.


async def _hello(twin: Twin, compress: str | None) -> tuple[Any, Any]:
    url = twin._discord.gateway.url + "?v=10&encoding=json"
    url += f"&compress={compress}" if compress else ""
    session = aiohttp.ClientSession()
    return session, await session.ws_connect(url)


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


async def test_without_compression_frames_are_text(twin: Twin) -> None:
    session, socket = await _hello(twin, None)
    hello = await socket.receive()
    assert hello.type is aiohttp.WSMsgType.TEXT
    assert json.loads(hello.data)["op"] == 10
    await session.close()


async def test_zlib_is_one_stream_flushed_after_each_message(twin: Twin) -> None:
    session, socket = await _hello(twin, "zlib-stream")
    inflate = zlib.decompressobj()
    await socket.send_json({"op": 1, "d": None})
    ops = []
    for _ in range(2):
        frame = (await socket.receive()).data
        assert frame.endswith(b"\x00\x00\xff\xff")
        ops.append(json.loads(inflate.decompress(frame))["op"])
    assert ops == [10, 11]
    await session.close()


ZSTD = ("compression.zstd", "backports.zstd", "zstandard")
#: Those of them that this Python has; the tests bring the last one.
ZSTD_HERE = [name for name in ZSTD if _is_there(name)]


@pytest.mark.parametrize("name", ZSTD_HERE)
async def test_zstd_is_one_stream_of_blocks(
    name: str, twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_ZSTD", (name,))
    import zstandard

    session, socket = await _hello(twin, "zstd-stream")
    inflate = zstandard.ZstdDecompressor().decompressobj()
    await socket.send_json({"op": 1, "d": None})
    ops = [json.loads(inflate.decompress((await socket.receive()).data))["op"] for _ in range(2)]
    assert ops == [10, 11]
    await session.close()


@pytest.mark.parametrize("asked", ["lzma", "zstd-stream"])
async def test_a_compression_that_is_not_there_is_left_out(
    asked: str, twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_ZSTD", ("no.such.module",))
    session, socket = await _hello(twin, asked)
    hello = await socket.receive()
    assert (hello.type, json.loads(hello.data)["op"]) == (aiohttp.WSMsgType.TEXT, 10)
    await session.close()


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ("not json", 4002),
        ('{"op": 3, "d": {}}', 4003),
        ('{"op": 2, "d": {"token": "wrong", "intents": 0}}', 4004),
    ],
)
async def test_bad_payloads_close_with_their_code(twin: Twin, payload: str, code: int) -> None:
    session, socket = await _hello(twin, None)
    await socket.receive()
    await socket.send_str(payload)
    assert (await socket.receive()).data == code
    await session.close()


async def test_identify_twice_and_unknown_opcodes(twin: Twin) -> None:
    for second, code in ((2, 4005), (99, 4001)):
        session, socket = await _hello(twin, None)
        identify = {"op": 2, "d": {"token": twin.token, "intents": 0}}
        await socket.send_json(identify)
        await socket.send_json({**identify, "op": second})
        frames = [await socket.receive() for _ in range(3)]
        assert frames[-1].data == code
        await session.close()


async def test_a_resume_of_nothing_is_an_invalid_session(twin: Twin) -> None:
    session, socket = await _hello(twin, None)
    await socket.receive()
    body = {"token": twin.token, "session_id": "gone", "seq": 5}
    await socket.send_json({"op": 6, "d": body})
    assert json.loads((await socket.receive()).data) == {"op": 9, "d": False}
    await session.close()


async def test_shards_hear_only_their_servers(twin: Twin) -> None:
    session, socket = await _hello(twin, None)
    mine = (twin.guild.id >> 22) % 2
    body = {"token": twin.token, "intents": 1, "shard": [1 - mine, 2]}
    await socket.send_json({"op": 2, "d": body})
    await socket.receive()
    assert json.loads((await socket.receive()).data)["t"] == "READY"
    twin.channel("new")
    await socket.send_json({"op": 1, "d": None})
    assert json.loads((await socket.receive()).data)["op"] == 11  # no GUILD_CREATE in between
    await session.close()


async def test_members_can_be_asked_for(twin: Twin, bot: hikari.GatewayBot) -> None:
    chunks: list[Any] = []
    bot.subscribe(hikari.MemberChunkEvent, _keep(chunks))
    await bot.request_guild_members(twin.guild.id)
    await until(lambda: chunks)
    assert {one.id for one in chunks[-1].members.values()} == set(twin.guild.members)


async def test_rest_goes_on_while_the_gateway_is_away(twin: Twin, bot: hikari.GatewayBot) -> None:
    twin.disconnect()
    await bot.rest.create_message(twin.channel().id, "still here")
    assert twin.journal.count(CREATE, status=200) == 1
