"""Test a whole bot: a local Discord, the real hikari, a scripted model.

Look at `running`: the bot is closed also when the test fails; hikari would reconnect for ever.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import hikari
import pytest

import minamo
from minamo.twin import CREATE, Twin

pytestmark = pytest.mark.anyio


def make_bot(
    token: str, llm: minamo.ScriptedProvider, rest_url: str | None = None
) -> hikari.GatewayBot:
    """Make the bot under test; in a project of your own, import it."""
    bot = hikari.GatewayBot(
        token, rest_url=rest_url, banner=None, logs=None, suppress_optimization_warning=True
    )
    client = minamo.Client(bot)

    async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
        if event.is_human and event.content:
            await client.stream(event, llm.ask(event.content), button=True)

    bot.subscribe(hikari.GuildMessageCreateEvent, on_message)
    return bot


@asynccontextmanager
async def running(twin: Twin, llm: minamo.ScriptedProvider) -> AsyncIterator[None]:
    bot = make_bot(twin.token, llm, rest_url=twin.url)
    await bot.start(check_for_updates=False)
    try:
        yield
    finally:
        await bot.close()


async def test_it_answers_a_mention(twin: Twin) -> None:
    async with running(twin, minamo.ScriptedProvider(["Hello.\n\nHow are you?"])):
        asked = await twin.say(f"<@{twin.bot.id}> hi", user="ann")
        # texts() holds what the bot said; texts(bot=False) what everybody said.
        await twin.journal.until(lambda: twin.texts() == ["Hello.", "How are you?"])
        assert twin.messages()[1].reply_to == asked.id


async def test_a_lost_response_doubles_nothing(twin: Twin) -> None:
    twin.faults.drop(on=CREATE, after_effect=True)  # Discord has the message, the bot no answer
    async with running(twin, minamo.ScriptedProvider(["Once."])):
        await twin.say(f"<@{twin.bot.id}> hi")
        await twin.journal.until(lambda: twin.journal.count(CREATE) == 2)
    assert twin.texts() == ["Once."]


async def test_the_stop_button_stops(twin: Twin) -> None:
    async with running(twin, minamo.ScriptedProvider(["One.\n\n", "Two"], hangs=True)):
        await twin.say(f"<@{twin.bot.id}> hi", user="ann")
        await twin.journal.until(lambda: twin.texts() == ["One."])
        live = twin.messages()[-1]
        button = live.components[0]["components"][0]["custom_id"]
        await twin.click(live, button, user="ann")
        await twin.journal.until(lambda: "Two" in twin.texts())  # what was said is still shown
