"""What Discord documents of its gateway and of its headers, and what the twin does: one table.

Each probe is a bare websocket or a bare request, so that no client hides what it reads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest
from attrs import define, field
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minamo.twin import CREATE, Limit, Permission, Rules, Style, Twin

pytestmark = pytest.mark.anyio
GUILDS, MEMBERS, PRESENCES, MESSAGES = 1 << 0, 1 << 1, 1 << 8, 1 << 9
REACTIONS, DM_MESSAGES, CONTENT = 1 << 10, 1 << 12, 1 << 15
ALL = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25


@define(eq=False)
class Socket:
    """One connection to the gateway, and all that came over it."""

    twin: Twin
    wire: aiohttp.ClientWebSocketResponse
    got: list[dict[str, Any]] = field(factory=list)

    async def read(self) -> None:
        async for frame in self.wire:
            self.got.append(json.loads(frame.data))

    async def until(self, holds: Callable[[], Any]) -> Any:
        async with asyncio.timeout(5):
            while not (found := holds()):  # noqa: ASYNC110 - the reader is another task
                await asyncio.sleep(0.005)
        return found

    def events(self, name: str) -> list[Any]:
        return [one["d"] for one in self.got if one.get("t") == name]

    async def event(self, name: str) -> Any:
        return (await self.until(lambda: self.events(name)))[-1]

    async def send(self, op: int, body: Any) -> None:
        await self.wire.send_json({"op": op, "d": body})

    async def identify(self, intents: Any = GUILDS, **more: Any) -> None:
        body = {"token": self.twin.token, "intents": intents, "properties": {}, **more}
        await self.send(2, body)

    async def settled(self) -> None:
        """Wait until all that was sent before has been answered."""
        count = sum(one["op"] == 11 for one in self.got)
        await self.send(1, None)
        await self.until(lambda: sum(one["op"] == 11 for one in self.got) > count)

    async def closed(self) -> int:
        """Wait for the end; its code."""
        await self.until(lambda: self.wire.closed)
        return self.wire.close_code or 0


@define(eq=False)
class Lab:
    """A twin, and bare ways to it."""

    twin: Twin
    session: aiohttp.ClientSession
    readers: list[asyncio.Task[None]] = field(factory=list)

    async def socket(self, query: str = "?v=10&encoding=json") -> Socket:
        wire = await self.session.ws_connect(self.twin.gateway_url + query)
        made = Socket(self.twin, wire)
        self.readers.append(asyncio.create_task(made.read()))
        await made.until(lambda: made.got and made.got[0]["op"] == 10)
        return made

    async def ready(self, intents: int) -> Socket:
        made = await self.socket()
        await made.identify(intents)
        await made.event("READY")
        await made.settled()
        return made

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any, Any]:
        headers = {"Authorization": f"Bot {self.twin.token}"}
        url = self.twin.url + path
        async with self.session.request(method, url, json=body, headers=headers) as answer:
            data = await answer.read()
            return answer.status, json.loads(data) if data else None, answer.headers

    async def post(self, text: str = "x") -> tuple[int, Any, Any]:
        home = f"/channels/{self.twin.channel().id}/messages"
        return await self.ask("POST", home, {"content": text})


@asynccontextmanager
async def lab(**rules: Any) -> AsyncIterator[Lab]:
    async with Twin(rules=Rules(**rules)) as twin, aiohttp.ClientSession() as session:
        made = Lab(twin, session)
        yield made
        await session.close()
        await asyncio.gather(*made.readers, return_exceptions=True)


# --- how connections end: the rules, what is sent, the code ----------------------------------

Sent = Callable[[Socket], Awaitable[None]]


def identify(**body: Any) -> Sent:
    return lambda socket: socket.identify(**body)


def raw(text: str | bytes) -> Sent:
    async def send(socket: Socket) -> None:
        await (
            socket.wire.send_str(text) if isinstance(text, str) else socket.wire.send_bytes(text)
        )

    return send


def after_ready(op: int, body: Any) -> Sent:
    async def send(socket: Socket) -> None:
        await socket.identify()
        await socket.send(op, body)

    return send


async def flood(socket: Socket) -> None:
    await socket.identify()
    for _ in range(130):
        if socket.wire.closed:
            return
        await socket.send(3, {"since": None, "activities": [], "status": "online", "afk": False})


CLOSED: dict[str, tuple[dict[str, Any], Sent, int]] = {
    "an unknown opcode": ({}, after_ready(99, {}), 4001),
    "no JSON": ({}, raw("{"), 4002),
    "no text": ({}, raw(b"\xff\xfe"), 4002),
    "no opcode": ({}, raw('{"d": {}}'), 4002),
    "more than 4096 bytes": ({}, raw(json.dumps({"op": 1, "d": "x" * 4_096})), 4002),
    "an IDENTIFY that is a number": ({}, raw('{"op": 2, "d": 5}'), 4002),
    "a payload before IDENTIFY": ({}, lambda socket: socket.send(8, {}), 4003),
    "a wrong token": ({}, identify(token="x"), 4004),
    "a second IDENTIFY": ({}, after_ready(2, {}), 4005),
    "a RESUME within a session": ({}, after_ready(6, {}), 4005),
    "121 payloads in a minute": ({}, flood, 4008),
    "a shard beyond their count": ({}, identify(shard=[5, 2]), 4010),
    "a negative shard": ({}, identify(shard=[-1, 2]), 4010),
    "unknown intents": ({}, identify(intents=1 << 40), 4013),
    "negative intents": ({}, identify(intents=-1), 4013),
    "intents not switched on": ({"privileged_intents": 0}, identify(intents=CONTENT), 4014),
}


@pytest.mark.parametrize("name", CLOSED)
async def test_a_connection_ends_with_its_code(name: str) -> None:
    rules, send, code = CLOSED[name]
    async with lab(**rules) as one:
        socket = await one.socket()
        await send(socket)
        assert await socket.closed() == code


async def test_a_resume_of_what_was_never_sent_is_refused() -> None:
    async with lab() as one:
        session_id = (await one.ready(GUILDS)).events("READY")[0]["session_id"]
        again = await one.socket()
        await again.send(6, {"token": one.twin.token, "session_id": session_id, "seq": 99})
        assert await again.closed() == 4007


async def test_another_version_of_the_gateway_is_refused() -> None:
    async with lab() as one:
        assert await (await one.socket("?v=99&encoding=json")).closed() == 4012


async def test_a_heart_that_stops_ends_the_session() -> None:
    async with lab(heartbeat_interval_ms=100) as one:
        socket = await one.ready(GUILDS)
        session_id = socket.events("READY")[0]["session_id"]
        assert await socket.closed() == 4009
        again = await one.socket()
        await again.send(6, {"token": one.twin.token, "session_id": session_id, "seq": 1})
        await again.until(lambda: {"op": 9, "d": False} in again.got)


async def test_a_heart_that_beats_keeps_it() -> None:
    async with lab(heartbeat_interval_ms=100) as one:
        socket = await one.ready(GUILDS)
        for _ in range(12):
            await socket.settled()
            await asyncio.sleep(0.1)
        assert not socket.wire.closed


async def test_too_many_payloads_can_be_resumed() -> None:
    async with lab(gateway_payloads=Limit(4, 60.0, Style.FIXED)) as one:
        socket = await one.socket()
        await socket.identify()
        session_id = (await socket.event("READY"))["session_id"]
        for _ in range(4):
            await socket.send(1, None)
        assert await socket.closed() == 4008
        again = await one.socket()
        await again.send(6, {"token": one.twin.token, "session_id": session_id, "seq": 1})
        await again.event("RESUMED")


async def test_sessions_that_begin_too_fast_are_invalid() -> None:
    async with lab(identify_every_s=5.0) as one:
        await one.ready(GUILDS)
        second = await one.socket()
        await second.identify()
        await second.until(lambda: {"op": 9, "d": False} in second.got)


_KEYS = ["token", "intents", "shard", "session_id", "seq"]
_KEYS += ["guild_id", "query", "user_ids", "limit", "nonce", "presences"]
_LEAF = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
_JSON = st.recursive(
    _LEAF | st.sampled_from(["TOKEN", "GUILD"]),  # stand for the real ones
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=75, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    known=st.booleans(),
    payloads=st.lists(st.tuples(st.sampled_from([1, 2, 3, 6, 8]), _JSON), min_size=1, max_size=5),
)
@example(known=False, payloads=[(2, {"token": "TOKEN", "intents": float("inf")})])
@example(known=False, payloads=[(2, {"token": "TOKEN", "shard": [0]})])
@example(known=False, payloads=[(6, {"token": "TOKEN", "session_id": []})])
@example(known=True, payloads=[(8, {"guild_id": "GUILD", "user_ids": ["x"]})])
def test_whatever_is_sent_ends_at_most_its_own_connection(
    known: bool, payloads: list[tuple[int, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with lab() as one:
            other, socket = await one.ready(ALL), await one.socket()
            if known:
                await socket.identify(ALL)
            with suppress(ConnectionError):  # the first ones may have ended it
                for op, body in payloads:
                    text = json.dumps({"op": op, "d": body}).replace("TOKEN", one.twin.token)
                    await socket.wire.send_str(text.replace("GUILD", str(one.twin.guild.id)))
                await socket.send(99, None)
            assert 4_001 <= await socket.closed() <= 4_014
            await other.settled()

    asyncio.run(story())
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


# --- what a session may read -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("intents", "servers", "members"),
    [
        (MESSAGES, 0, 0),
        (GUILDS, 1, 1),
        (GUILDS | MEMBERS, 1, 1),
        (GUILDS | PRESENCES, 1, 4),
        (ALL, 1, 4),
    ],
)
async def test_guild_create_tells_what_the_intents_allow(
    intents: int, servers: int, members: int
) -> None:
    async with lab() as one:
        one.twin.user("ann"), one.twin.user("bob")
        found = (await one.ready(intents)).events("GUILD_CREATE")
        assert [len(found), *[len(x["members"]) for x in found]] == [servers, *[members] * servers]


BOT = "<@1000000000000000000>"  # its id is the same in every twin
#: What is said, and what a session without MESSAGE_CONTENT reads of it and of what it replies to.
READ = {
    "a remark": ("secret", "", None),
    "a mention": (f"{BOT} hi", f"{BOT} hi", None),
    "a mention that replies to a remark": (f"{BOT} hi", f"{BOT} hi", "secret"),
    "a remark that replies to a remark": ("more", "", "secret"),
    "a remark that replies to a mention": ("more", "", f"{BOT} first"),
}


@pytest.mark.parametrize("name", READ)
async def test_without_message_content_only_what_is_meant_for_the_bot_is_read(name: str) -> None:
    text, read, first = READ[name]
    first_read = first if first and BOT in first else ""
    async with lab(rate_limits=False, privileged_intents=0) as one:
        blind = await one.ready(GUILDS | MESSAGES)
        if first is None:
            said = await one.twin.say(text)
        else:
            said = await one.twin.reply(await one.twin.say(first, user="bob"), text)
        await one.twin.edit(said, f"{text}!")
        read = f"{read}!" if read else ""
        await blind.event("MESSAGE_UPDATE")
        _, listed, _ = await one.ask("GET", f"/channels/{one.twin.channel().id}/messages?limit=1")
        _, fetched, _ = await one.ask(
            "GET", f"/channels/{one.twin.channel().id}/messages/{said.id}"
        )
        for seen in (blind.events("MESSAGE_UPDATE")[-1], listed[0], fetched):
            assert seen["content"] == read
            if first is not None:
                assert seen["referenced_message"]["content"] == first_read


async def test_without_message_content_nothing_else_of_a_message_is_read() -> None:
    async with lab(privileged_intents=0) as one:
        blind = await one.ready(GUILDS | MESSAGES | DM_MESSAGES)
        said = await one.twin.say("secret", files=[("a.txt", b"x")])
        told = await blind.event("MESSAGE_CREATE")
        assert [told[x] for x in ("content", "attachments", "embeds", "components")] == [
            "",
            [],
            [],
            [],
        ]
        assert said.content == "secret"  # what was said is untouched
        await one.twin.say("in private", channel=one.twin.dm())
        await blind.until(lambda: blind.events("MESSAGE_CREATE")[-1]["content"] == "in private")
        _, mine, _ = await one.post("my own")
        assert mine["content"] == "my own"


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("GUILD_CREATE", {"id": "1"}, {"id": "1", "members": []}),
        ("MESSAGE_UPDATE", {"id": "1", "content": "x"}, {"id": "1", "content": "x"}),
        ("SOMETHING_NEW", {"author": {}, "content": "x"}, {"author": {}, "content": "x"}),
    ],
)
async def test_events_of_a_test_may_be_in_part(name: str, body: Any, told: Any) -> None:
    async with lab() as one:
        blind = await one.ready(GUILDS | MESSAGES)
        one.twin.event(name, body)
        await blind.until(lambda: told in blind.events(name))
        one.twin.event("MESSAGE_CREATE", {"author": {"username": "a"}, "content": "x"})
        assert (await blind.event("MESSAGE_CREATE"))["content"] == ""


async def test_a_private_answer_comes_as_a_direct_message() -> None:
    async with lab() as one:
        friend, stranger = await one.ready(DM_MESSAGES), await one.ready(GUILDS | MESSAGES)
        used = await one.twin.slash("x")
        path = f"/interactions/{used.id}/{used.token}/callback"
        await one.ask("POST", path, {"type": 4, "data": {"content": "psst", "flags": 64}})
        told = await friend.event("MESSAGE_CREATE")
        assert told["content"] == "psst"
        assert not {"guild_id", "member"} & set(told)
        await stranger.settled()
        assert stranger.events("MESSAGE_CREATE") == []


# --- asking for members ----------------------------------------------------------------------

#: The request, with names for ids; the names that come, and those that are not found.
ASKED: dict[str, tuple[int, dict[str, Any], list[str] | None, list[str] | None]] = {
    "all": (ALL, {"query": "", "limit": 0}, ["owner", "twin-bot", "ann", "andy", "bob"], None),
    "some": (ALL, {"query": "", "limit": 2}, ["owner", "twin-bot"], None),
    "all, without the intent": (GUILDS, {"query": "", "limit": 0}, None, None),
    "by a beginning": (GUILDS, {"query": "AN", "limit": 0}, ["ann", "andy"], None),
    "by a beginning, one": (GUILDS, {"query": "an", "limit": 1}, ["ann"], None),
    "by a beginning that no name has": (GUILDS, {"query": "zz", "limit": 1}, [], None),
    "by ids": (GUILDS, {"user_ids": ["bob", "5"], "limit": 0}, ["bob"], ["5"]),
    "by one id": (GUILDS, {"user_ids": "ann", "query": "", "limit": 0}, ["ann"], []),
    "of no server": (ALL, {"guild_id": "5", "query": "", "limit": 0}, None, None),
}


@pytest.mark.parametrize("name", ASKED)
async def test_members_that_are_asked_for(name: str) -> None:
    intents, body, names, missing = ASKED[name]
    async with lab() as one:
        ids = {x: str(one.twin.user(x).id) for x in ("ann", "andy", "bob")}
        if isinstance(given := body.get("user_ids"), list):
            body = {**body, "user_ids": [ids.get(x, x) for x in given]}
        elif given is not None:
            body = {**body, "user_ids": ids[given]}
        socket = await one.ready(intents)
        await socket.send(8, {"guild_id": str(one.twin.guild.id), "nonce": "n", **body})
        await socket.settled()
        told = [
            ([x["user"]["username"] for x in d["members"]], d.get("not_found"), d["nonce"])
            for d in socket.events("GUILD_MEMBERS_CHUNK")
        ]
        assert told == ([] if names is None else [(names, missing, "n")])


async def test_members_come_in_chunks_of_a_thousand() -> None:
    async with lab() as one:
        for number in range(1_500):
            one.twin.user(f"u{number}")
        socket = await one.ready(ALL)
        await socket.send(8, {"guild_id": str(one.twin.guild.id), "query": "", "limit": 0})
        await socket.settled()
        found = socket.events("GUILD_MEMBERS_CHUNK")
        assert [(x["chunk_index"], x["chunk_count"], len(x["members"])) for x in found] == [
            (0, 2, 1_000),
            (1, 2, 502),
        ]


# --- headers ---------------------------------------------------------------------------------

BUCKET = [f"X-RateLimit-{x}" for x in ("Limit", "Remaining", "Reset", "Reset-After", "Bucket")]


@pytest.mark.parametrize(
    ("status", "plan"),
    [
        (200, lambda t: None),
        (400, lambda t: None),
        (401, lambda t: setattr(t._discord, "token", "another")),
        (403, lambda t: t.deny("general", Permission.SEND_MESSAGES)),
        (429, lambda t: t.faults.limited(1, on=CREATE)),
        (502, lambda t: t.faults.status(502, on=CREATE)),
        (501, lambda t: t._discord.unknown.clear()),
    ],
)
async def test_every_answer_is_bare_json_from_behind_the_front_end(
    status: int, plan: Callable[[Twin], Any]
) -> None:
    async with lab() as one:
        token = one.twin.token
        plan(one.twin)
        path = f"/channels/{one.twin.channel().id}/messages" if status != 501 else "/no/such/route"
        url, headers = one.twin.url + path, {"Authorization": f"Bot {token}"}
        body = {"content": "" if status == 400 else "x"}
        async with one.session.post(url, json=body, headers=headers) as answer:
            assert answer.status == status
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.headers["Via"] == "1.1 google"
            await answer.json()
        one.twin._discord.unknown.clear()


async def test_the_page_of_the_content_network_is_from_before_it() -> None:
    async with lab() as one:
        one.twin.faults.html(on=CREATE)
        url = f"{one.twin.url}/channels/{one.twin.channel().id}/messages"
        headers = {"Authorization": f"Bot {one.twin.token}"}
        async with one.session.post(url, json={"content": "x"}, headers=headers) as answer:
            assert (answer.status, answer.content_type) == (429, "text/html")
            assert "Via" not in answer.headers


@pytest.mark.parametrize(
    ("scope", "announced", "left"),
    [("user", True, "0"), ("shared", True, "4"), ("global", False, None)],
)
async def test_a_429_tells_of_its_bucket_unless_it_is_global(
    scope: str, announced: bool, left: str | None
) -> None:
    async with lab() as one:
        await one.post()
        one.twin.faults.limited(0.2, on=CREATE, scope=scope)
        status, body, headers = await one.post()
        assert (status, headers["X-RateLimit-Scope"]) == (429, scope)
        assert [x in headers for x in BUCKET] == [announced] * 5
        assert headers.get("X-RateLimit-Remaining") == left
        assert body["global"] is (scope == "global")
