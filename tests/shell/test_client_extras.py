"""Components, embeds and attachments of the caller's own: once, with the last message."""

from __future__ import annotations

from typing import Any

import hikari
import pytest

import minamo
from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.messages import SUPPRESS_EMBEDS
from minamo.twin import CREATE, EDIT, Message, Twin
from support.bot import Rig, on_command, rigged, streaming

pytestmark = pytest.mark.anyio

SCRIPT = ["One.\n\n", "Two.\n\n", "Three."]
EPHEMERAL = 1 << 6


def row(label: str = "Again") -> hikari.api.ComponentBuilder:
    made = hikari.impl.MessageActionRowBuilder()
    made.add_interactive_button(hikari.ButtonStyle.PRIMARY, "again", label=label)
    return made


def all_extras() -> dict[str, Any]:
    return {
        "components": [row()],
        "embeds": [hikari.Embed(title="Sources")],
        "attachments": [hikari.Bytes(b"1,2", "data.csv")],
    }


def is_decorated(message: Message) -> bool:
    kinds = [bool(message.components), bool(message.embeds), bool(message.attachments)]
    assert len(set(kinds)) == 1, kinds
    assert not kinds[0] or not message.flags & SUPPRESS_EMBEDS, "the embed is hidden"
    return kinds[0]


def decorated(twin: Twin) -> list[bool]:
    return [is_decorated(message) for message in twin.messages() if message.author.is_bot]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"config": minamo.StreamConfig(degree=0)},
        {"edit": True},
        {"edit": True, "fresh": True},
        {"button": True},
        {"button": True, "edit": True},
        {"persona": minamo.Persona("Mira")},
        {"config": minamo.StreamConfig(max_message_length=100), "edit": True},
    ],
    ids=[
        "plain",
        "aggregated",
        "edit",
        "fresh",
        "button",
        "edit with a button",
        "persona",
        "pages",
    ],
)
async def test_the_last_message_has_them_and_no_other(twin: Twin, how: dict[str, Any]) -> None:
    script = [*SCRIPT[:2], "word " * 40]
    async with rigged(twin, streaming(script, **how, **all_extras())) as rig:
        result = await rig.ask()
    assert result.status == "completed"
    marks = decorated(twin)
    assert marks == [False] * (len(marks) - 1) + [True]
    last = twin.messages()[-1]
    assert result.receipts[-1].message_id == last.id
    assert last.components[0]["components"][0]["label"] == "Again"
    assert last.files["data.csv"] == b"1,2"
    assert last.content.rstrip().endswith("word")  # the text is as it was


async def test_a_button_of_ours_leaves_theirs_alone(twin: Twin) -> None:
    source = [(0.0, "Only one."), (0.3, " Really.")]
    async with rigged(twin, streaming(source, edit=True, button=True, components=[row()])) as rig:
        await rig.ask()
    [message] = [one for one in twin.messages() if one.author.is_bot]
    assert [one["label"] for one in message.components[0]["components"]] == ["Again"]


@pytest.mark.parametrize("ephemeral", [False, True])
@pytest.mark.parametrize("script", [["Short."], SCRIPT])
async def test_a_command_gets_them_too(twin: Twin, script: list[str], ephemeral: bool) -> None:
    async with rigged(twin, None) as rig:
        source = minamo.ScriptedProvider(script)
        on_command(
            rig,
            lambda one: rig.client.stream(one, source, ephemeral=ephemeral, **all_extras()),
        )
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert decorated(twin) == [False] * (len(script) - 1) + [True]
    assert all(bool(one.flags & EPHEMERAL) == ephemeral for one in twin.messages())


async def test_embeds_do_not_bring_back_link_previews(twin: Twin) -> None:
    text = "See https://example.invalid/x for more."
    async with rigged(twin, streaming([text], **all_extras())) as rig:
        await rig.ask()
    _, said, own = twin.messages()
    assert (said.content, is_decorated(said)) == (text, False)
    assert said.flags & SUPPRESS_EMBEDS
    assert (own.content, is_decorated(own)) == ("", True)


async def test_the_file_of_a_long_reply_is_not_replaced(twin: Twin) -> None:
    overflow = minamo.Overflow(after=1, to="file")
    long = [f"Paragraph {n}.\n\n" for n in range(5)]
    async with rigged(twin, streaming(long, overflow=overflow, **all_extras())) as rig:
        await rig.ask()
    *_, file, own = twin.messages()
    assert list(file.files) == ["reply.md"]
    assert list(own.files) == ["data.csv"]


async def test_the_last_message_in_a_thread_has_them(twin: Twin) -> None:
    overflow = minamo.Overflow(after=1, to="thread")
    async with rigged(twin, streaming(SCRIPT, overflow=overflow, components=[row()])) as rig:
        result = await rig.ask()
    last = result.receipts[-1]
    assert last.channel_id != twin.channel("general").id
    assert last.delivered
    assert not any(one.components for one in twin.messages())


async def test_with_nothing_said_they_are_a_message_of_their_own(twin: Twin) -> None:
    async with rigged(twin, streaming([""], **all_extras())) as rig:
        result = await rig.ask()
    assert result.status == "empty_response"
    assert decorated(twin) == [True]


async def test_components_alone_need_a_message(twin: Twin) -> None:
    async with rigged(twin, streaming([""], components=[row()])) as rig:
        await rig.ask()
    assert decorated(twin) == []


@pytest.mark.parametrize("end", ["kill", "follow_up"])
async def test_a_reply_that_was_cut_off_gets_none(twin: Twin, end: str) -> None:
    source = minamo.ScriptedProvider(["One.\n\n", "Tw"], hangs=True)

    async def answer(rig: Rig, event: Any) -> Any:
        return await rig.client.stream(event, source, **all_extras())

    async with rigged(twin, answer) as rig:
        await twin.say("hi", user="ann")
        await rig.until(lambda: rig.said() == ["One."])
        place = twin.channel("general").id
        if end == "kill":
            await rig.client.kill(channel_id=place)
        else:
            await rig.client.request_follow_up(channel_id=place)
        await rig.until(lambda: bool(rig.results))
    assert decorated(twin) == [False]


async def test_after_an_error_the_text_has_them_and_not_the_notice(twin: Twin) -> None:
    script = ["Some.\n\n", ErrorChunk("model_error", "no")]
    async with rigged(twin, streaming(script, components=[row()])) as rig:
        result = await rig.ask()
    said, notice = [one for one in twin.messages() if one.author.is_bot]
    assert result.status == "error"
    assert said.components
    assert not notice.components
    assert notice.embeds


async def test_a_lost_answer_does_not_double_them(twin: Twin) -> None:
    twin.faults.drop(on=EDIT, after_effect=True)
    async with rigged(twin, streaming(SCRIPT, **all_extras())) as rig:
        result = await rig.ask()
    assert result.receipts[-1].delivered
    assert decorated(twin) == [False, False, True]
    assert len(twin.messages()[-1].attachments) == 1


async def test_a_refused_edit_changes_no_outcome(twin: Twin) -> None:
    twin.faults.status(403, on=EDIT, times=None)
    async with rigged(twin, streaming(SCRIPT, **all_extras())) as rig:
        result = await rig.ask()
    assert result.status == "completed"
    assert (result.receipts[-1].kind, result.receipts[-1].outcome) == ("edit", "refused")
    assert rig.said() == ["One.", "Two.", "Three."]


async def test_a_turn_has_them_once_and_a_tool_may_add_some(twin: Twin) -> None:
    files: list[Any] = []

    class Model:
        def chat(self, messages: list[minamo.ChatMessage], **_: Any) -> minamo.ScriptedProvider:
            call = FunctionCall((Call("paint", {}, id="1"),))
            told = messages[-1].role == "tool"
            return minamo.ScriptedProvider(["There."] if told else ["I paint.", call])

    async def paint() -> str:
        files.append(hikari.Bytes(b"picture", "picture.png"))
        return "painted"

    async def answer(rig: Rig, event: Any) -> Any:
        asked = [minamo.user("paint")]
        tools = minamo.Tools([paint])
        return await rig.client.turn(event, Model(), asked, tools=tools, attachments=files)

    async with rigged(twin, answer) as rig:
        result = await rig.ask()
    bot = [one for one in twin.messages() if one.author.is_bot]
    assert [list(one.files) for one in bot] == [[], ["picture.png"]]
    assert result.last.receipts[-1].message_id == bot[-1].id


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"embeds": ["words"]}, "embeds must be hikari.Embed objects; one is a str"),
        ({"components": ["words"]}, "components must be builders"),
        ({"attachments": "file.txt"}, "attachments must be a list; it is a str"),
        ({"embeds": [hikari.Embed()] * 11}, "Discord takes 10"),
    ],
)
async def test_wrong_ones_are_refused_before_anything_is_sent(
    twin: Twin, how: dict[str, Any], words: str
) -> None:
    async def answer(rig: Rig, event: Any) -> str:
        with pytest.raises(minamo.BadSetting, match=words):
            await rig.client.stream(event, minamo.ScriptedProvider(["x"]), **how)
        return "refused"

    async with rigged(twin, answer) as rig:
        await rig.ask()
    assert twin.journal.count(CREATE) == 0
