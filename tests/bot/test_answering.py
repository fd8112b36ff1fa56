"""The ready-made bot, as people in a server meet it: real hikari, real client, over sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from minamo.bot.settings import (
    BotSettings,
    DiscordSettings,
    LimitSettings,
    PersonaSettings,
    Settings,
)
from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import Twin
from minamo.wire.conversation import ChatMessage

pytestmark = pytest.mark.anyio
Bot = Callable[..., Any]


class Listening:
    """A provider that remembers what it was told."""

    def __init__(self, *lines: Any, hangs: bool = False) -> None:
        self.heard: list[list[ChatMessage]] = []
        self.tools: list[Any] = []
        self._script = ScriptedProvider(lines or ["Fine."], hangs=hangs)

    def chat(
        self, messages: Sequence[ChatMessage], *, tools: Any = (), **_: Any
    ) -> ScriptedProvider:
        self.heard.append(list(messages))
        self.tools = list(tools)
        return self._script

    def words(self, number: int = -1) -> list[tuple[str, str]]:
        return [(one.role, one.text) for one in self.heard[number]]


async def test_a_mention_is_answered_with_a_reply(twin: Twin, running: Bot) -> None:
    async with running(twin) as one:
        asked = await twin.say(one.mention("hello"), user="ann")
        turn = await one.turn()
        assert turn.status == "completed"
        first, *_ = [m for m in twin.messages() if m.author.is_bot]
        assert first.content.startswith("Hello! I am a bot without a model")
        assert first.reply_to == asked.id
        assert len(twin.texts()) == 3


async def test_what_is_not_said_to_it_is_not_heard(twin: Twin, running: Bot) -> None:
    voice = Listening()
    async with running(twin, None, voice) as one:
        await twin.say("hello everybody", user="ann")
        await twin.say("<@&5> and @everyone", user="ann")
        await twin.say(one.mention("last"), user="ann")
        await one.turn()
        assert len(voice.heard) == 1


async def test_it_runs_without_the_privileged_intent(twin: Twin, running: Bot) -> None:
    async with running(twin) as one:
        identify = twin.journal.events("IDENTIFY")[0]
        assert not identify.data["intents"] & (1 << 15)
        await twin.say(one.mention("hello"), user="ann")
        await one.turn()


async def test_with_the_intent_if_the_owner_wants_it(twin: Twin, running: Bot) -> None:
    settings = Settings(discord=DiscordSettings(message_content=True))
    async with running(twin, settings):
        assert twin.journal.events("IDENTIFY")[0].data["intents"] & (1 << 15)


async def test_replies_are_the_memory(twin: Twin, running: Bot) -> None:
    voice = Listening("Nice to meet you.")
    settings = Settings(bot=BotSettings(system_prompt="Be kind."))
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("my name is Ann"), user="ann")
        await one.turn()
        answer = twin.messages()[-1]
        await twin.reply(answer, one.mention("what is my name?"), user="ann")
        await one.turn(2)
        assert voice.words() == [
            ("system", "Be kind."),
            ("user", "my name is Ann"),
            ("assistant", "Nice to meet you."),
            ("user", "what is my name?"),
        ]


async def test_a_mention_with_only_a_file_is_answered_and_a_bare_one_gets_a_hint(
    twin: Twin, running: Bot
) -> None:
    voice = Listening("I have read it.")
    async with running(twin, None, voice) as one:
        await twin.say(one.mention(""), user="ann", files=[("message.txt", b"a long message")])
        await one.turn()
        await twin.say(one.mention(""), user="bob")
        await one.until(lambda: len(twin.texts()) == 2)
        assert twin.texts()[0] == "I have read it."
    (told,) = [text for role, text in voice.words() if role == "user"]
    assert told.split("\n")[1] == "a long message"
    assert len(voice.heard) == 1


async def test_direct_messages_need_no_mention_and_no_reply(twin: Twin, running: Bot) -> None:
    voice = Listening("Hello.")
    async with running(twin, None, voice) as one:
        await twin.say("my name is Ann", channel=twin.dm("ann"), user="ann")
        await one.turn()
        await twin.say("what is my name?", channel=twin.dm("ann"), user="ann")
        await one.turn(2)
        assert [text for _, text in voice.words()] == [
            "my name is Ann", "Hello.", "what is my name?",
        ]  # fmt: skip


async def test_direct_messages_can_be_off(twin: Twin, running: Bot) -> None:
    voice = Listening()
    settings = Settings(bot=BotSettings(direct_messages=False))
    async with running(twin, settings, voice) as one:
        await twin.say("hello", channel=twin.dm("ann"), user="ann")
        await twin.say(one.mention("hello"), user="ann")
        await one.turn()
        assert len(voice.heard) == 1


async def test_the_command(twin: Twin, running: Bot) -> None:
    voice = Listening("An answer.")
    async with running(twin, None, voice) as one:
        commands = {c["name"]: c for c in next(iter(twin.world.commands.values())).values()}
        assert set(commands) == {"ask", "stop"}
        assert [o["name"] for o in commands["ask"]["options"]] == ["prompt"]
        await twin.slash("ask", {"prompt": "What is it?"}, user="ann")
        turn = await one.turn()
        assert turn.status == "completed"
        assert voice.words() == [("user", "What is it?")]
        assert twin.texts() == ["An answer."]


async def test_a_tool_is_really_run(twin: Twin, running: Bot) -> None:
    async with running(twin) as one:
        await twin.say(one.mention("roll the dice"), user="ann")
        turn = await one.turn()
        assert [answer.call.name for answer in turn.tool_history] == ["roll"]
        assert turn.states == (
            "starting", "streaming", "running_tools", "streaming", "completed",
        )  # fmt: skip
        assert "which makes" in twin.texts()[1]


async def test_tools_can_be_off(twin: Twin, running: Bot) -> None:
    voice = Listening()
    async with running(twin, Settings(bot=BotSettings(tools=())), voice) as one:
        await twin.say(one.mention("hello"), user="ann")
        await one.turn()
        assert voice.tools == []


async def test_the_next_provider_is_asked(twin: Twin, running: Bot) -> None:
    first, second = Listening(ErrorChunk("api_error", "no")), Listening("I can.")
    async with running(twin, None, first, second) as one:
        await twin.say(one.mention("hello"), user="ann")
        turn = await one.turn()
        assert turn.status == "completed"
        assert twin.texts() == ["I can."]
        assert not [m for m in twin.messages() if m.embeds]


async def test_a_persona_by_command(twin: Twin, running: Bot) -> None:
    voice = Listening("Waves.")
    personas = (
        PersonaSettings(name="Nereid", prompt="You are the sea."),
        PersonaSettings(name="B"),
    )
    async with running(twin, Settings(persona=personas), voice) as one:
        (ask,) = [
            c for c in next(iter(twin.world.commands.values())).values() if c["name"] == "ask"
        ]
        assert [c["name"] for c in ask["options"][1]["choices"]] == ["Nereid", "B"]
        await twin.slash("ask", {"prompt": "Speak", "persona": "Nereid"}, user="ann")
        assert (await one.turn()).status == "completed"
        assert voice.words() == [("system", "You are the sea."), ("user", "Speak")]
        shown = {(m.author.name, m.content) for m in twin.messages()}
        assert ("Nereid", "Waves.") in shown


async def test_a_persona_by_channel(twin: Twin, running: Bot) -> None:
    persona = PersonaSettings(name="Nereid", channels=(twin.channel("sea").id,))
    async with running(twin, Settings(persona=(persona,)), Listening("Waves.")) as one:
        await twin.say(one.mention("hello"), channel="sea", user="ann")
        await twin.say(one.mention("hello"), channel="general", user="ann")
        await one.turn(2)
        assert twin.messages("sea")[-1].author.name == "Nereid"
        assert twin.messages("general")[-1].author.name == twin.bot.name


@pytest.mark.parametrize("by", ["channels", "guilds"])
async def test_only_where_it_may(twin: Twin, running: Bot, by: str) -> None:
    voice = Listening()
    here = twin.channel("here").id if by == "channels" else 12345
    thread = twin.thread("talk", parent="here")
    settings = Settings(bot=BotSettings(**{by: (here,)}))
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("hello"), channel="general", user="ann")
        asked = await twin.slash("ask", {"prompt": "hello"}, channel="general", user="ann")
        await one.until(lambda: asked.is_answered)
        assert voice.heard == []
        if by == "channels":
            await twin.say(one.mention("hello"), channel="here", user="ann")
            await twin.say(one.mention("hello"), channel=thread, user="ann")
            await one.turn(2)
            assert len(voice.heard) == 2


async def test_too_many_questions_are_refused_once(twin: Twin, running: Bot) -> None:
    voice = Listening()
    settings = Settings(limits=LimitSettings(replies_per_minute=1, at_once=0))
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("one"), user="ann")
        await one.turn()
        for text in ("two", "three"):
            await twin.say(one.mention(text), user="ann")
        await twin.say(one.mention("from another"), user="bob")
        await one.turn(2)
        refusals = [text for text in twin.texts() if "questions in one minute" in text]
        assert len(refusals) == 1
        assert len(voice.heard) == 2


class Rolling(Listening):
    """Wants a die to be rolled twice, one after the other."""

    def chat(self, messages: Sequence[ChatMessage], **options: Any) -> ScriptedProvider:
        said = super().chat(messages, **options)
        rolled = sum(one.role == "tool" for one in messages)
        return said if rolled == 2 else ScriptedProvider([FunctionCall((Call("roll"),))])


async def test_each_call_of_a_model_counts(twin: Twin, running: Bot) -> None:
    voice = Rolling()
    settings = Settings(limits=LimitSettings(replies_per_minute=3, at_once=0))
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("one"), user="ann")
        assert len((await one.turn()).results) == 3
        await twin.say(one.mention("two"), user="ann")
        await one.until(lambda: any("questions in one minute" in text for text in twin.texts()))
        assert len(voice.heard) == 3


async def test_too_many_at_a_time(twin: Twin, running: Bot) -> None:
    voice = Listening("Still", hangs=True)
    settings = Settings(limits=LimitSettings(replies_per_minute=0, at_once=1))
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("one"), user="ann")
        await one.until(lambda: voice.heard)
        await twin.say(one.mention("two"), channel="other", user="ann")
        await one.until(lambda: twin.texts("other"))
        assert "still answering you" in twin.texts("other")[0]
        await twin.slash("stop", user="ann")
        assert (await one.turn()).status == "stopped_by_user"


async def test_a_refusal_is_said_in_the_language_of_the_person(twin: Twin, running: Bot) -> None:
    twin.user("ann").locale = "de"
    twin.user("bob").locale = "ja"
    bot = BotSettings(channels=(twin.channel("here").id,), locale="de")
    limits = LimitSettings(replies_per_minute=1, at_once=0)
    persona = PersonaSettings(name="Nereid")
    settings = Settings(bot=bot, limits=limits, persona=(persona,))
    async with running(twin, settings, Listening("Waves.")) as one:
        asked = {"prompt": "Speak", "persona": "Nereid"}
        await twin.slash("ask", asked, channel="elsewhere", user="ann")
        await twin.slash("ask", asked, channel="here", user="bob")
        await one.turn()
        await twin.slash("ask", asked, channel="here", user="bob")
        await one.until(lambda: len([m for m in twin.messages("here") if m.is_ephemeral]) == 2)
        assert twin.texts("elsewhere", ephemeral=True) == ["Hier antworte ich nicht."]
        answers, refused = (m.content for m in twin.messages("here") if m.is_ephemeral)
        assert answers == "Nereid が下で回答します。"
        assert "1分間の質問が多すぎます" in refused
        # A message does not tell the language of who wrote it; the setting does.
        for text in ("one", "two"):
            await twin.say(one.mention(text), channel="here", user="carl")
        await one.until(lambda: any("Minute" in text for text in twin.texts("here")))


async def test_commands_are_described_in_every_language(twin: Twin, running: Bot) -> None:
    settings = Settings(persona=(PersonaSettings(name="Nereid"),))
    async with running(twin, settings, Listening()) as one:
        await one.until(lambda: len(_commands(twin)) == 2)
        ask, stop = (_commands(twin)[name] for name in ("ask", "stop"))
        assert ask["description"] == "Ask me something"
        for said in (ask, stop, *ask["options"]):
            assert set(said["description_localizations"]) == {"de", "ja"}
        assert ask["options"][0]["description_localizations"]["de"] == "Die Frage"


def _commands(twin: Twin) -> dict[str, Any]:
    return {one["name"]: one for shelf in twin.world.commands.values() for one in shelf.values()}


async def test_the_button_and_edits(twin: Twin, running: Bot) -> None:
    settings = Settings(bot=BotSettings(mode="edit"))
    voice = Listening("One.\n\n", (0.1, "Two.\n\n"), hangs=True)
    async with running(twin, settings, voice) as one:
        await twin.say(one.mention("one"), user="ann")
        await one.until(lambda: any(m.components for m in twin.messages()))
        (shown,) = [m for m in twin.messages() if m.components]
        (button,) = [c for row in shown.components for c in row["components"]]
        await asyncio.sleep(0.3)
        await twin.click(shown, button["custom_id"], user="ann")
        turn = await one.turn()
        assert (turn.status, turn.stop_reason) == ("stopped_by_user", "user_request")
        shown = [m for m in twin.messages() if m.author.is_bot and not m.is_ephemeral]
        assert [m.content for m in shown] == ["One.\n\nTwo."]
        await one.until(lambda: not shown[0].components)


async def test_closing_ends_a_reply_in_order(twin: Twin, running: Bot) -> None:
    voice = Listening("Said already.", hangs=True)
    async with running(twin, None, voice) as one:
        await twin.say(one.mention("one"), user="ann")
        await one.until(lambda: voice.heard)
        await asyncio.sleep(0.1)
    assert twin.texts() == ["Said already."]
    assert [turn.status for turn in one.turns] in ([], ["stopped_by_user"])
