"""Test a whole bot: a local Discord, the real hikari, a scripted model.

Look at `twin.running`: it starts the bot, and closes it also when an assertion fails.
"""

import hikari
import pytest

import minamo
from minamo.twin import CREATE, Twin

pytestmark = pytest.mark.anyio


def make_bot(twin: Twin, llm: minamo.ScriptedProvider) -> hikari.GatewayBot:
    """Make the bot under test; in a project of your own, import it."""
    bot = hikari.GatewayBot(
        twin.token, rest_url=twin.url, banner=None, logs=None, suppress_optimization_warning=True
    )
    client = minamo.Client(bot)

    async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
        if event.is_human and event.content:
            await client.stream(event, llm.ask(event.content), button=True)

    bot.subscribe(hikari.GuildMessageCreateEvent, on_message)
    return bot


async def test_it_answers_a_mention(twin: Twin) -> None:
    async with twin.running(make_bot(twin, minamo.ScriptedProvider(["Hello.\n\nHow are you?"]))):
        asked = await twin.say("hi", mention=True, user="ann")
        # texts() holds what the bot said; texts(bot=False) the messages of all users.
        await twin.journal.until(lambda: twin.texts() == ["Hello.", "How are you?"])
        assert twin.messages()[1].reply_to == asked.id


async def test_a_lost_response_doubles_nothing(twin: Twin) -> None:
    twin.faults.drop(on=CREATE, after_effect=True)  # Discord has the message, the bot no answer
    async with twin.running(make_bot(twin, minamo.ScriptedProvider(["Once."]))):
        await twin.say("hi", mention=True)
        await twin.journal.until(lambda: twin.journal.count(CREATE) == 2)
    assert twin.texts() == ["Once."]


async def test_the_stop_button_stops(twin: Twin) -> None:
    async with twin.running(
        make_bot(twin, minamo.ScriptedProvider(["One.\n\n", "Two"], hangs=True))
    ):
        await twin.say("hi", mention=True, user="ann")
        await twin.journal.until(lambda: twin.texts() == ["One."])
        await twin.click(twin.messages()[-1], "Stop", user="ann")  # by its label
        await twin.journal.until(lambda: "Two" in twin.texts())  # what was said is still shown
