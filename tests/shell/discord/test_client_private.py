"""What was deferred for one person stays so, whoever deferred it; and arc, crescent and tanjun, as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import arc
import crescent
import hikari
import pytest
import tanjun

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.discord import interaction as interactions
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tools import Tools
from minamo.twin import CALLBACK, CREATE, Message, Twin
from minamo.wire.conversation import user
from support.bot import make_bot, make_rest_bot, on_command, rigged, served, until

pytestmark = pytest.mark.anyio

EPHEMERAL = hikari.MessageFlag.EPHEMERAL
LOOK = "GET /webhooks/{webhook}/{token}/messages/@original"
THREAD = "POST /channels/{channel}/messages/{message}/threads"
PARTS = ["<think>A private thought.</think>One.\n\n", "Two.\n\n", "Three."]

Job = Callable[[Client, Any], Awaitable[Any]]
Setup = Callable[[Any, Job, list[Any]], object]


async def with_a_thread(client: Client, target: Any) -> StreamResult:
    """A long reply that would go on in a thread, with thoughts, and an error after all."""
    source = ScriptedProvider([*PARTS, ErrorChunk("api_error", "down")])
    thoughts, overflow = ThoughtDisplay("spoiler"), Overflow(1, "thread")
    return await client.stream(target, source, thoughts=thoughts, overflow=overflow)


async def with_a_file(client: Client, target: Any) -> StreamResult:
    overflow, thoughts = Overflow(1, "file"), ThoughtDisplay("thread")
    return await client.stream(
        target, ScriptedProvider(PARTS), overflow=overflow, thoughts=thoughts
    )


async def with_tools(client: Client, target: Any) -> Any:
    tools = Tools()

    @tools.add
    async def look(ctx: ToolContext) -> str:
        """Look."""
        ctx.progress("Looking it up…")
        return "found"

    def model(messages: Any, _: Any) -> ScriptedProvider:
        if messages[-1].role == "tool":
            return ScriptedProvider([*PARTS, "Found."])
        return ScriptedProvider(["Let me look.", FunctionCall((Call("look"),))])

    return await client.turn(
        target, model, [user("look")], tools=tools, thoughts=ThoughtDisplay("spoiler")
    )


async def with_nothing_but_thoughts(client: Client, target: Any) -> StreamResult:
    said = ScriptedProvider(["<think>A private thought.</think>"])
    return await client.stream(target, said, thoughts=ThoughtDisplay("spoiler"))


JOBS = {
    "thread": with_a_thread,
    "file": with_a_file,
    "tools": with_tools,
    "thoughts": with_nothing_but_thoughts,
}


def arc_by_hand(bot: hikari.GatewayBot, job: Job, results: list[Any]) -> None:
    framework = arc.GatewayClient(bot)
    client = Client.from_arc(framework)

    @framework.include
    @arc.slash_command("ask", "Ask the model")
    async def ask(ctx: arc.GatewayContext) -> None:
        await ctx.defer(EPHEMERAL)
        results.append(await job(client, ctx))


def arc_as_declared(bot: hikari.GatewayBot, job: Job, results: list[Any]) -> None:
    framework = arc.GatewayClient(bot)
    client = Client.from_arc(framework)

    @framework.include
    @arc.slash_command("ask", "Ask the model", autodefer=arc.AutodeferMode.EPHEMERAL)
    async def ask(ctx: arc.GatewayContext) -> None:
        results.append(await job(client, ctx))


def crescent_by_hand(bot: hikari.GatewayBot, job: Job, results: list[Any]) -> None:
    framework = crescent.Client(bot)
    client = Client(bot)

    @framework.include
    @crescent.command(name="ask", description="Ask the model")
    async def ask(ctx: crescent.Context) -> None:
        await ctx.defer(ephemeral=True)
        results.append(await job(client, ctx))


def tanjun_command(bot: hikari.GatewayBot, job: Job, results: list[Any]) -> None:
    _tanjun(bot, job, results, default_to_ephemeral=True)


def tanjun_client(bot: hikari.GatewayBot, job: Job, results: list[Any]) -> None:
    _tanjun(bot, job, results).set_ephemeral_default(True)


def _tanjun(bot: Any, job: Job, results: list[Any], **declared: Any) -> tanjun.Client:
    # tanjun 2.17 cannot declare commands with hikari 2.7; the twin asks for undeclared ones too.
    if isinstance(bot, hikari.RESTBot):
        framework = tanjun.Client.from_rest_bot(
            bot, declare_global_commands=False, bot_managed=True
        )
    else:
        framework = tanjun.Client.from_gateway_bot(bot, declare_global_commands=False)
    client = Client.from_tanjun(framework, bot)
    component = tanjun.Component()

    @component.with_command
    @tanjun.as_slash_command("ask", "Ask the model", **declared)
    async def ask(ctx: tanjun.abc.SlashContext) -> None:
        results.append(await job(client, ctx))

    framework.add_component(component)
    return framework


SETUPS: dict[str, Setup] = {
    "arc, by hand": arc_by_hand,
    "arc, as declared": arc_as_declared,
    "crescent": crescent_by_hand,
    "tanjun, a command": tanjun_command,
    "tanjun, all of them": tanjun_client,
}


def public(twin: Twin) -> list[Message]:
    """What the bot said for all to see."""
    every = [one for some in twin.world.messages.values() for one in some.values()]
    return [one for one in every if one.author.is_bot and not one.is_ephemeral]


def check_private(twin: Twin) -> None:
    assert public(twin) == []
    assert twin.messages()
    assert (twin.journal.count(CREATE), twin.journal.count(THREAD)) == (0, 0)


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("setup", SETUPS)
async def test_a_framework_deferred_privately(twin: Twin, setup: str, job: str) -> None:
    results: list[Any] = []
    bot = make_bot(twin)
    SETUPS[setup](bot, JOBS[job], results)
    await bot.start(check_for_updates=False)
    await until(lambda: bool(twin.world.commands) or setup.startswith("tanjun"))
    await twin.slash("ask")
    await until(lambda: bool(results))
    await bot.close()
    check_private(twin)


def arc_rest(bot: hikari.RESTBot, results: list[Any]) -> None:
    framework = arc.RESTClient(bot)
    client = Client.from_arc(framework)

    @framework.include
    @arc.slash_command("ask", "Ask the model", autodefer=arc.AutodeferMode.EPHEMERAL)
    async def ask(ctx: arc.RESTContext) -> None:
        results.append(await with_a_thread(client, ctx))


def crescent_rest(bot: hikari.RESTBot, results: list[Any]) -> None:
    framework = crescent.Client(bot)
    client = Client(bot)

    # Without a gateway crescent 1.2 defers publicly, whatever it is asked for.
    @framework.include
    @crescent.command(name="ask", description="Ask the model")
    async def ask(ctx: crescent.Context) -> None:
        source = ScriptedProvider([*PARTS, ErrorChunk("api_error", "down")])
        results.append(await client.stream(ctx, source, ephemeral=True))


def tanjun_rest(bot: hikari.RESTBot, results: list[Any]) -> None:
    _tanjun(bot, with_a_thread, results, default_to_ephemeral=True)


@pytest.mark.parametrize("setup", [arc_rest, crescent_rest, tanjun_rest])
async def test_a_framework_without_a_gateway_deferred_privately(
    twin: Twin, setup: Callable[[hikari.RESTBot, list[Any]], None]
) -> None:
    results: list[Any] = []
    bot = make_rest_bot(twin)
    setup(bot, results)
    async with served(twin, bot):
        await until(lambda: bool(twin.world.commands) or setup is tanjun_rest)
        await twin.slash("ask")
        await until(lambda: bool(results))
    check_private(twin)


async def defer(one: hikari.CommandInteraction, flags: int = 0) -> None:
    kind = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
    await one.create_initial_response(kind, flags=flags)


@pytest.mark.parametrize("job", JOBS)
async def test_an_author_deferred_privately(twin: Twin, job: str) -> None:
    async with rigged(twin, None) as rig:

        async def answer(one: hikari.CommandInteraction) -> Any:
            await defer(one, EPHEMERAL)
            return await JOBS[job](rig.client, one)

        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    check_private(twin)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask as often, but without waiting in between."""
    monkeypatch.setattr(interactions, "LOOK_AGAIN_S", 0.001)


@pytest.mark.parametrize("flags", [0, EPHEMERAL], ids=["public", "private"])
@pytest.mark.usefixtures("impatient")
async def test_what_cannot_be_found_out_is_private(twin: Twin, flags: int) -> None:
    async with rigged(twin, None) as rig:

        async def answer(one: hikari.CommandInteraction) -> Any:
            await defer(one, flags)
            twin.faults.status(502, on=LOOK, times=100)
            return await with_a_thread(rig.client, one)

        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    # The deferral is what it is, and Discord fills it with the first message that comes.
    assert len(public(twin)) == (0 if flags else 1)
    assert len(twin.messages()) > 2
    assert (twin.journal.count(CREATE), twin.journal.count(THREAD)) == (0, 0)


@pytest.mark.usefixtures("impatient")
async def test_a_private_answer_to_a_deferral_of_which_nothing_is_known(twin: Twin) -> None:
    async with rigged(twin, None) as rig:

        async def answer(one: hikari.CommandInteraction) -> Any:
            await defer(one)
            twin.faults.status(502, on=LOOK, times=100)
            return await rig.client.stream(one, ScriptedProvider(PARTS), ephemeral=True)

        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    check_private(twin)


async def test_a_public_answer_is_asked_about_once(twin: Twin) -> None:
    """Of what minamo deferred itself nothing has to be asked."""
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, ScriptedProvider(PARTS)))
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert len(public(twin)) == 3
    assert (twin.journal.count(LOOK), twin.journal.count(CALLBACK)) == (0, 1)


LONG = [f"Paragraph {number}.\n\n" for number in range(3)]


@asynccontextmanager
async def running(bot: hikari.GatewayBot) -> AsyncIterator[None]:
    await bot.start(check_for_updates=False)
    try:
        yield
    finally:
        await bot.close()


def with_arc(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    framework = arc.GatewayClient(bot)
    client = Client.from_arc(framework)
    assert framework.get_type_dependency(Client) is client

    @framework.include
    @arc.slash_command("ask", "Ask the model")
    async def ask(
        ctx: arc.GatewayContext,
        q: arc.Option[str, arc.StrParams("what")],
        minamo: Client = arc.inject(),  # noqa: B008 - arc's own way
    ) -> None:
        results.append(await minamo.stream(ctx, ScriptedProvider([*LONG, q])))


def with_crescent(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    framework = crescent.Client(bot)
    client = Client(bot)

    @framework.include
    @crescent.command(name="ask", description="Ask the model")
    class Ask:
        q = crescent.option(str, "what")

        async def callback(self, ctx: crescent.Context) -> None:
            results.append(await client.stream(ctx, ScriptedProvider([*LONG, self.q])))


def with_tanjun(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    # tanjun 2.17 cannot declare commands with hikari 2.7; the twin asks for undeclared ones too.
    framework = tanjun.Client.from_gateway_bot(bot, declare_global_commands=False)
    client = Client.from_tanjun(framework, bot)
    component = tanjun.Component()

    @component.with_command
    @tanjun.with_str_slash_option("q", "what")
    @tanjun.as_slash_command("ask", "Ask the model")
    async def ask(
        ctx: tanjun.abc.SlashContext,
        q: str,
        minamo: Client = tanjun.injected(type=Client),  # noqa: B008 - tanjun's own way
    ) -> None:
        assert minamo is client
        results.append(await minamo.stream(ctx, ScriptedProvider([*LONG, q])))

    framework.add_component(component)


FRAMEWORKS = {"arc": with_arc, "crescent": with_crescent, "tanjun": with_tanjun}


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_a_command_is_answered(twin: Twin, name: str, caplog: Any) -> None:
    results: list[StreamResult] = []
    bot = make_bot(twin)
    FRAMEWORKS[name](bot, results)
    async with running(bot):
        await until(lambda: bool(twin.world.commands) or name == "tanjun")
        await twin.slash("ask", {"q": "why?"})
        await until(lambda: bool(results))
    assert results[0].status == "completed"
    assert twin.texts() == ["Paragraph 0.", "Paragraph 1.", "Paragraph 2.", "why?"]
    assert twin.journal.count(CREATE) == 0  # all of it was the answer to the interaction
    assert [one.outcome for one in results[0].receipts] == ["delivered"] * 4
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_an_interaction_of_hikari_itself(twin: Twin) -> None:
    results: list[StreamResult] = []
    bot = make_bot(twin)
    client = Client(bot)

    @bot.listen()
    async def on_command(event: hikari.InteractionCreateEvent) -> None:
        results.append(
            await client.stream(event.interaction, ScriptedProvider(["yes"]), ephemeral=True)
        )

    async with running(bot):
        await twin.slash("ask")
        await until(lambda: bool(results))
    assert twin.texts(ephemeral=True) == ["yes"]
    assert twin.messages()[-1].flags & hikari.MessageFlag.EPHEMERAL


async def test_arc_without_a_gateway(twin: Twin) -> None:
    bot = make_rest_bot(twin)
    framework = arc.RESTClient(bot)
    results: list[StreamResult] = []
    client = Client.from_arc(framework)

    @framework.include
    @arc.slash_command("ask", "Ask the model")
    async def ask(ctx: arc.RESTContext) -> None:
        results.append(await client.stream(ctx, ScriptedProvider(["One.\n\n", "Two."])))

    async with served(twin, bot):
        await until(lambda: bool(twin.world.commands))
        await twin.slash("ask")
        await until(lambda: bool(results))
    assert results[0].status == "completed"
    assert twin.texts() == ["One.", "Two."]
