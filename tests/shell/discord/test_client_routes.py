"""Every way in which words reach Discord, with words that would harm whoever reads them.

A model that was talked into it writes an address with a secret in it, hides one behind a label,
or calls everybody.  Whatever the way, nobody is pinged, nothing is hidden, and Discord is told to
fetch nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import hikari
import pytest

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
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
from support.lanes import unpaced
from support.overseer import hidden, wrongs

pytestmark = pytest.mark.anyio

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
        bits = [(0.05, f"{part}\n\n") for part in long(text).split("\n\n")]
        return await rig.client.stream(
            place, ScriptedProvider(bits), config=PAGES, edit=True, **how
        )

    return way


def commanded(before: Callable[..., Awaitable[Any]] | None = None, **how: Any) -> Way:
    async def way(rig: Rig, text: str) -> Any:
        async def answer(one: hikari.CommandInteraction) -> Any:
            if before is not None:
                await before(one)
            bits = [(0.05, f"{part}\n\n") for part in long(text).split("\n\n")]
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
