"""Turns through the client: tools, thoughts, personas, memory; and all four charts at work."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import hikari
import pytest

import minamo
from minamo.core.chunks import Call, DoneChunk, FunctionCall
from minamo.core.stream import Stream
from minamo.machine import TransitionRecord
from minamo.shell.discord.history import HistoryLimits, ReplyChain
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tools import Tools
from minamo.twin import CREATE, Twin
from minamo.wire.conversation import ChatMessage, user
from support.bot import Rig, rigged, streaming

pytestmark = pytest.mark.anyio

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Model:
    """Says one script after the other, and remembers what it was told."""

    def __init__(self, *scripts: list[Any]) -> None:
        self.scripts = list(scripts)
        self.told: list[list[ChatMessage]] = []

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ScriptedProvider:
        self.told.append(list(messages))
        return ScriptedProvider(self.scripts.pop(0))


class Looker:
    """Notes every step of every machine."""

    def __init__(self) -> None:
        self.taken: dict[str, Counter[str]] = {}
        self.watched = True
        self.feed = self

    def gateway(self, name: str, data: Any) -> None:
        pass

    def happened(self, at: float, event: str, payload: object = None) -> None:
        pass

    def open_stream(self, channel_id: int, stream: Stream) -> Looker:
        stream.machine.subscribe(self.observer("stream"))
        return self

    def observer(self, chart: str, channel_id: int | None = None) -> Any:
        steps = self.taken.setdefault(chart, Counter())

        def take(step: TransitionRecord) -> None:
            steps[step.target] += 1

        return take


tools = Tools()


@tools.add
async def roll(sides: int, context: ToolContext) -> int:
    """Roll a die."""
    context.progress("Rolling the die")
    return sides


@tools.add
async def wait(seconds: float) -> str:
    """Wait."""
    await anyio.sleep(seconds)
    return "waited"


def calls(*made: tuple[str, dict[str, Any]]) -> list[Any]:
    return [FunctionCall(tuple(Call(name, arguments) for name, arguments in made))]


async def test_a_whole_conversation(twin: Twin) -> None:
    """Text, thought, tool, result, text; interrupted, stopped, killed: every chart takes part."""
    looker = Looker()
    model = Model(
        ["Let me see.\n\n", "<think>a die</think>", *calls(("roll", {"sides": 6}))],
        ["A six!", DoneChunk("stop")],
        ["Working on it.\n\n", *calls(("wait", {"seconds": 60}))],
        ["Anew.", DoneChunk("stop")],
        ["One.\n\n", "And", (60.0, " never")],
        ["Two.\n\n", "And", (60.0, " never")],
    )

    async def answer(rig: Rig, event: Any) -> Any:
        return await rig.client.turn(event, model, [user(event.content)], tools=tools)

    async with rigged(twin, answer, inspect=looker) as rig:
        place = twin.channel("general").id
        first = await rig.ask("roll")
        assert first.status == "completed"
        assert rig.said() == ["Let me see.", "-# Rolling the die", "A six!"]
        assert first.accumulated_text == "Let me see.\n\nA six!"
        assert [one.role for one in model.told[1]] == ["user", "assistant", "tool"]
        assert model.told[1][1].text == "Let me see."

        await twin.say("slowly", user="ann")  # its tool runs for a minute...
        await rig.until(lambda: rig.said()[-1] == "Working on it.")
        await anyio.sleep(0.05)
        await twin.say("no, rather this", user="ann")  # ...unless somebody interrupts
        await rig.until(lambda: len(rig.results) == 3)
        assert [one.status for one in rig.results[1:]] == ["follow_up_interrupt", "completed"]

        await twin.say("one", user="ann")
        await rig.until(lambda: rig.said()[-1] == "One.")
        assert await rig.client.request_stop(channel_id=place, requester="1")
        await rig.until(lambda: len(rig.results) == 4)
        assert rig.results[3].stop_reason == "user_request"

        await twin.say("two", user="ann")
        await rig.until(lambda: rig.said()[-1] == "Two.")
        await rig.client.kill(channel_id=place)
        await rig.until(lambda: len(rig.results) == 5)
        assert rig.results[4].stop_reason == "killed"
    assert set(looker.taken) == {"stream", "turn", "channel", "delivery"}
    assert all(looker.taken.values())
    assert looker.taken["stream"]["function_call"] == 2
    assert looker.taken["delivery"]["delivered"] == len(rig.said())


async def test_a_persona_speaks(twin: Twin) -> None:
    async with rigged(twin, streaming(["Hello."], persona=Persona("Mira"), reply=True)) as rig:
        await rig.ask(user="ann {x}")
    notice, told = twin.messages()[-2:]
    assert (told.content, told.author.name) == ("Hello.", "Mira")
    assert told.webhook_id is not None
    assert notice.author.name == "Mira"
    assert str(twin.messages()[0].id) in notice.content
    assert "ann (x)" in notice.content.replace("\\", "")
    assert [one.outcome for one in rig.results[0].receipts] == ["delivered"]


async def test_a_persona_speaks_in_a_thread(twin: Twin) -> None:
    async with rigged(twin, streaming(["Hello."], persona=Persona("Mira"))) as rig:
        thread = twin.thread("aside")
        await twin.say("hi", channel=thread, user="ann")
        await rig.until(lambda: bool(rig.results))
    told = twin.messages(thread)[-1]
    assert (told.content, told.author.name) == ("Hello.", "Mira")


async def test_thoughts_below_the_reply(twin: Twin) -> None:
    script = ["<think>deep thought</think>", "Forty-two."]
    async with rigged(twin, streaming(script), thoughts=ThoughtDisplay("spoiler")) as rig:
        await rig.ask()
    assert rig.said()[0] == "Forty-two."
    assert "||" in rig.said()[1]
    assert "deep thought" in rig.said()[1]


async def test_thoughts_in_a_log(twin: Twin) -> None:
    script = ["<think>deep thought</think>", "Forty-two."]
    log = twin.channel("log").id
    async with rigged(
        twin, streaming(script), thoughts=ThoughtDisplay("log", channel_id=log)
    ) as rig:
        await rig.ask()
    assert rig.said() == ["Forty-two."]
    assert "deep thought" in twin.messages("log")[-1].embeds[0]["description"]


async def test_the_chain_of_replies_is_remembered(twin: Twin) -> None:
    told: list[list[ChatMessage]] = []

    async def answer(rig: Rig, event: Any) -> Any:
        told.append(await rig.client.conversation(event))
        return await rig.client.stream(event, ScriptedProvider(["One.\n\n", "Two."]), reply=True)

    async with rigged(twin, answer) as rig:
        await rig.ask("<@1000000000000000000> who are you?", user="ann")
        answered = twin.messages()[-1]
        await twin.reply(answered, "and I am <@1000000000000000000> bob", user="bob")
        await rig.until(lambda: len(rig.results) == 2)
    assert [(one.role, one.text, one.name) for one in told[1]] == [
        ("user", "who are you?", "ann"),
        ("assistant", "One.\n\nTwo.", ""),
        ("user", "and I am  bob", "bob"),
    ]


async def test_a_persona_remembers_what_it_said(twin: Twin) -> None:
    told: list[list[ChatMessage]] = []

    async def answer(rig: Rig, event: Any) -> Any:
        told.append(await rig.client.conversation(event))
        source = ScriptedProvider(["One.\n\n", "Two."])
        return await rig.client.stream(event, source, reply=True, persona=Persona("Mira"))

    async with rigged(twin, answer) as rig:
        await rig.ask("who are you?", user="ann")
        await twin.reply(twin.messages()[-1], "really?", user="ann")
        await rig.until(lambda: len(rig.results) == 2)
    assert [(one.role, one.text) for one in told[1]] == [
        ("user", "who are you?"),
        ("assistant", "One.\n\nTwo."),
        ("user", "really?"),
    ]


async def test_pictures_are_looked_at(twin: Twin) -> None:
    told: list[list[ChatMessage]] = []

    async def answer(rig: Rig, event: Any) -> Any:
        told.append(await rig.client.conversation(event))
        return await rig.client.stream(event, ScriptedProvider(["A dot."]))

    async with rigged(twin, answer) as rig:
        files = [("dot.png", PICTURE), ("notes.txt", b"text"), ("not.png", b"nonsense")]
        await twin.say("what is this?", user="ann", files=files)
        await rig.until(lambda: bool(rig.results))
    assert [one.source for one in told[0][0].images] == [PICTURE]


async def fetched(rig: Rig, one: Any) -> hikari.Message:
    return await rig.bot.rest.fetch_message(one.channel_id, one.id)


async def test_a_conversation_is_never_more_than_a_provider_takes(twin: Twin) -> None:
    """Six large pictures, in three messages: the newest fit, and the model is told of the rest."""
    two = [(f"{number}.png", PICTURE + b"\0" * 4_200_000) for number in range(2)]
    async with rigged(twin, None) as rig:
        asked = [await twin.say(f"look {n}", user="ann", files=two) for n in range(3)]
        asked.append(await twin.reply(asked[2], "which is best?", user="ann"))
        chain = [await fetched(rig, one) for one in asked]
        told = [
            await ReplyChain(rig.bot.rest, twin.bot.id, memory).read(chain)
            for memory in (
                HistoryLimits(),
                HistoryLimits(images_max=1),
                HistoryLimits(images_max=99),
            )
        ]
        told.append(await rig.client.conversation(chain[3]))
    for llm in (
        minamo.OpenAICompatible("http://127.0.0.1:9/v1", model="m"),
        minamo.Anthropic(model="m", api_key="k"),
        minamo.Gemini(model="m", api_key="k"),
    ):
        for said in told:
            llm.chat([minamo.system("Be kind. " * 1_000), *said])
    counts = [[len(one.images) for one in said] for said in told]
    assert counts == [[0, 1, 2, 0], [0, 0, 1, 0], [0, 1, 2, 0], [2, 0]]
    assert [one.text for one in told[0]] == [
        "look 0\n[2 pictures are left out]",
        "look 1\n[a picture is left out]",
        "look 2",
        "which is best?",
    ]


async def test_a_long_memory_is_no_longer_than_a_request(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        asked = await fetched(rig, await twin.say("\x01" * 2_000, user="ann"))
        memory = HistoryLimits(messages_max=9_999, characters_max=99_999_999)
        said = await ReplyChain(rig.bot.rest, twin.bot.id, memory).read([asked] * 3_000)
    # Each of these characters takes six in JSON: 3,000 messages would be 36 MB.
    assert 1_000 < len(said) < 3_000
    minamo.OpenAICompatible("http://127.0.0.1:9/v1", model="m").chat(said)


async def test_a_memory_has_limits(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        last = await twin.say("first", user="ann")
        for number in range(6):
            last = await twin.reply(last, f"reply {number}", user="bob")
        message = await rig.bot.rest.fetch_message(twin.channel("general").id, last.id)
        whole = await rig.client.conversation(message)
        short = await rig.client.conversation(message, HistoryLimits(messages_max=3))
        few = await rig.client.conversation(message, HistoryLimits(characters_max=16))
    assert [one.text for one in whole] == ["first", *(f"reply {number}" for number in range(6))]
    assert [one.text for one in short] == ["reply 3", "reply 4", "reply 5"]
    assert [one.text for one in few] == ["reply 4", "reply 5"]


async def test_a_turn_without_tools_falls_back(twin: Twin) -> None:
    from minamo.core.chunks import ErrorChunk

    broken = Model([ErrorChunk("provider_overloaded", "no", retryable=True)])
    sound = Model(["Here I am."])

    async def answer(rig: Rig, event: Any) -> Any:
        return await rig.client.turn(event, broken, [user("hi")], fallbacks=[sound])

    async with rigged(twin, answer) as rig:
        result = await rig.ask()
    assert result.status == "completed"
    assert rig.said() == ["Here I am."]
    assert twin.journal.count(CREATE) == 1  # nobody was told of the first attempt
