"""Slash commands and buttons, their first answer, follow-ups, and the two clocks."""

from __future__ import annotations

from typing import Any

import hikari
import pytest

from minamo.twin import CALLBACK, CREATE, Interaction, Rules, Twin
from support.waiting import until

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
SAY = hikari.ResponseType.MESSAGE_CREATE
DEFER = hikari.ResponseType.DEFERRED_MESSAGE_CREATE


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def answer(rest: Rest, used: Interaction, kind: Any = SAY, text: Any = "hi") -> Any:
    if kind is not SAY:
        return await rest.create_interaction_response(used.id, used.token, kind)
    return await rest.create_interaction_response(used.id, used.token, kind, text)


async def code_of(call: Any) -> int:
    with pytest.raises(hikari.ClientHTTPResponseError) as caught:
        await call
    return int(getattr(caught.value, "code", 0))


async def test_defer_edit_follow_up(twin: Twin, bot: hikari.GatewayBot) -> None:
    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        assert isinstance(event.interaction, hikari.CommandInteraction)
        (question,) = event.interaction.options or ()
        await event.interaction.create_initial_response(DEFER)
        await event.interaction.edit_initial_response(f"about {question.value}")
        await event.interaction.execute("and more", attachment=hikari.Bytes(b"data", "a.txt"))

    used = await twin.slash("ask", {"topic": "tides"})
    await twin.journal.until(lambda: used.follow_ups)
    assert twin.texts() == ["about tides", "and more"]
    assert (used.callback_type, used.original_id) == (5, twin.messages()[0].id)
    assert twin.messages()[1].files == {"a.txt": b"data"}


async def test_a_button_is_pressed_and_the_message_changes(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        pressed = event.interaction
        assert isinstance(pressed, hikari.ComponentInteraction)
        kind = hikari.ResponseType.MESSAGE_UPDATE
        await pressed.create_initial_response(kind, f"{pressed.custom_id} pressed", components=[])

    row = bot.rest.build_message_action_row()
    row.add_interactive_button(hikari.ButtonStyle.DANGER, "stop", label="Stop")
    row.add_interactive_button(hikari.ButtonStyle.DANGER, "gone", label="Gone", is_disabled=True)
    await bot.rest.create_message(twin.channel().id, "working", component=row)
    (message,) = twin.messages()
    for custom_id, words in (("nothing", "it has 'stop', 'gone'"), ("gone", "is disabled")):
        with pytest.raises(LookupError, match=words):
            await twin.click(message, custom_id)
    used = await twin.click(message, "stop")
    await twin.journal.until(lambda: used.is_answered)
    assert twin.texts() == ["stop pressed"]
    with pytest.raises(LookupError, match="it has none"):
        await twin.click(message, "stop")


async def test_the_first_answer_has_three_seconds(client: Any, clock: Clock) -> None:
    async with Twin(clock=clock) as twin, client(twin) as rest:
        in_time, late = await twin.slash("a"), await twin.slash("b")
        clock.now += 2.9
        await answer(rest, in_time)
        clock.now += 0.2
        assert await code_of(answer(rest, late)) == 10062


async def test_the_token_has_fifteen_minutes(client: Any, clock: Clock) -> None:
    async with Twin(clock=clock) as twin, client(twin) as rest:
        used = await twin.slash("a")
        await answer(rest, used)
        clock.now += 899
        await rest.edit_interaction_response(twin.bot.id, used.token, "still")
        clock.now += 2
        for call in (
            rest.edit_interaction_response(twin.bot.id, used.token, "too late"),
            rest.execute_webhook(twin.bot.id, used.token, "too late"),
        ):
            assert await code_of(call) == 50027
        assert twin.texts() == ["still"]


async def test_only_one_first_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used)
    assert await code_of(answer(rest, used)) == 40060
    assert await code_of(rest.create_interaction_response(5, "x", SAY, "x")) == 10062


async def test_nothing_before_the_first_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    assert await code_of(rest.execute_webhook(twin.bot.id, used.token, "x")) == 10015


async def test_a_follow_up_right_after_a_deferral_is_the_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used, DEFER)
    await rest.execute_webhook(twin.bot.id, used.token, "first")
    assert (twin.texts(), used.follow_ups) == (["first"], [])
    await rest.execute_webhook(twin.bot.id, used.token, "second")
    assert (twin.texts(), len(used.follow_ups)) == (["first", "second"], 1)


async def test_follow_ups_can_be_read_changed_and_deleted(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used)
    more = await rest.execute_webhook(twin.bot.id, used.token, "more")
    await rest.edit_webhook_message(twin.bot.id, used.token, more, "changed")
    seen = await rest.fetch_webhook_message(twin.bot.id, used.token, more)
    original = await rest.fetch_interaction_response(twin.bot.id, used.token)
    assert (seen.content, original.content) == ("changed", "hi")
    await rest.delete_webhook_message(twin.bot.id, used.token, more)
    await rest.delete_interaction_response(twin.bot.id, used.token)
    assert twin.messages() == []


async def test_what_only_one_person_sees_is_not_in_the_channel(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    heard: list[hikari.MessageCreateEvent] = []

    @bot.listen()
    async def on_message(event: hikari.DMMessageCreateEvent) -> None:
        heard.append(event)

    used = await twin.slash("a")
    flags = hikari.MessageFlag.EPHEMERAL
    await bot.rest.create_interaction_response(used.id, used.token, SAY, "psst", flags=flags)
    assert twin.messages()[0].is_ephemeral
    assert [one async for one in bot.rest.fetch_messages(twin.channel().id)] == []
    await until(lambda: heard)  # the bot is told, as of a direct message
    assert (heard[0].content, heard[0].message.guild_id) == ("psst", None)


async def test_a_user_install_has_five_follow_ups(client: Any) -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin, client(twin) as rest:
        used = await twin.slash("a", user_installed=True)
        await answer(rest, used)
        for _ in range(5):
            await rest.execute_webhook(twin.bot.id, used.token, "more")
        assert await code_of(rest.execute_webhook(twin.bot.id, used.token, "no")) == 40094


async def test_in_a_direct_message_it_comes_with_a_user(twin: Twin, bot: hikari.GatewayBot) -> None:
    heard: list[Any] = []

    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        heard.append(event.interaction)

    await twin.slash("ask", {"who": twin.user("bob")}, channel=twin.dm())
    await until(lambda: heard)
    assert (heard[0].user.username, heard[0].member, heard[0].guild_id) == ("ann", None, None)
    assert heard[0].options[0].value == twin.user("bob").id


async def test_commands_are_registered_and_only_those_are_used(twin: Twin, rest: Rest) -> None:
    await twin.slash("anything")  # a bot that registers none is asked for anything
    builder = rest.slash_command_builder("ask", "Ask")
    (made,) = await rest.set_application_commands(twin.bot.id, [builder])
    await rest.create_slash_command(twin.bot.id, "roll", "Roll", guild=twin.guild.id)
    used = await twin.slash("ask")
    assert used.data["id"] == str(made.id)
    with pytest.raises(LookupError, match="no command 'aks'; it has ask, roll"):
        await twin.slash("aks")
    (again,) = await rest.set_application_commands(twin.bot.id, [builder])
    assert again.id == made.id  # the same name keeps its id
    await rest.edit_application_command(twin.bot.id, made.id, description="Ask more")
    assert (await rest.fetch_application_command(twin.bot.id, made.id)).description == "Ask more"
    await rest.delete_application_command(twin.bot.id, made.id)
    assert await rest.fetch_application_commands(twin.bot.id) == []
    with pytest.raises(hikari.NotFoundError):
        await rest.fetch_application_command(twin.bot.id, made.id)
    bad = rest.slash_command_builder("no", "x" * 101)
    with pytest.raises(hikari.BadRequestError):
        await rest.set_application_commands(twin.bot.id, [bad])


async def test_a_callback_is_not_rate_limited(twin: Twin, rest: Rest) -> None:
    for _ in range(8):
        await answer(rest, await twin.slash("a"))
    assert [one.headers for one in twin.journal.requests(CALLBACK)] == [{}] * 8
    assert twin.journal.count(CREATE) == 0


async def test_a_thread_locked_meanwhile_takes_no_answer(twin: Twin, rest: Rest) -> None:
    thread = twin.thread("talk")
    used, deferred = await twin.slash("a", channel=thread), await twin.slash("b", channel=thread)
    await answer(rest, deferred, DEFER)
    thread.locked = True
    assert await code_of(answer(rest, used)) == 50083
    edit = rest.edit_interaction_response(twin.bot.id, deferred.token, "x")
    assert await code_of(edit) == 50083
