"""Replies through `Client`, from whatever they answer."""

from __future__ import annotations

from typing import Any

import anyio
import hikari
import pytest

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.errors import BadRequest, BadSetting, ClientClosed
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Twin
from support.bot import Rig, rigged, streaming

pytestmark = pytest.mark.anyio

SCRIPT = ["Hello", " there.\n\n", "<think>what now</think>", "Good", " bye."]


async def test_a_message_is_answered(twin: Twin) -> None:
    async with rigged(twin, streaming(SCRIPT)) as rig:
        result = await rig.ask()
    assert rig.said() == ["Hello there.", "Good bye."]
    assert result.status == "completed"
    assert result.accumulated_text == "Hello there.\n\nGood bye."
    assert result.thought_log == ("what now",)
    assert [one.outcome for one in result.receipts] == ["delivered", "delivered"]


@pytest.mark.parametrize("shape", ["event", "message", "id", "channel"])
async def test_the_shapes_of_a_target(twin: Twin, shape: str) -> None:
    async def answer(rig: Rig, event: hikari.MessageCreateEvent) -> StreamResult:
        target: Any = {
            "event": lambda: event,
            "message": lambda: event.message,
            "id": lambda: event.channel_id,
            "channel": lambda: rig.bot.cache.get_guild_channel(event.channel_id),
        }[shape]()
        return await rig.client.stream(target, ScriptedProvider(["yes"]))

    async with rigged(twin, answer) as rig:
        await rig.ask()
    assert rig.said() == ["yes"]


@pytest.mark.parametrize(
    ("text", "where", "how", "replies"),
    [
        ("hi", {}, {}, False),
        ("hi", {}, {"reply": True}, True),
        ("<@{me}> hi", {}, {}, True),
        ("<@{me}> hi", {}, {"reply": False}, False),
    ],
)
async def test_whether_it_shows_what_it_answers(
    twin: Twin, text: str, where: Any, how: Any, replies: bool
) -> None:
    async with rigged(twin, streaming(SCRIPT, **how)) as rig:
        me = rig.bot.get_me()
        assert me is not None
        await rig.ask(text.format(me=me.id))
    asked, first, second = twin.messages()
    assert first.reply_to == (asked.id if replies else None)
    assert second.reply_to is None


async def test_a_direct_message_is_replied_to(twin: Twin) -> None:
    async with rigged(twin, streaming(["yes"])) as rig:
        place = twin.dm(twin.user("ann"))
        await twin.say("psst", channel=place, user="ann")
        await rig.until(lambda: bool(rig.results))
        asked, told = twin.messages(place)
    assert (told.content, told.reply_to) == ("yes", asked.id)


async def test_any_async_iterable_of_text_will_do(twin: Twin) -> None:
    async def own() -> Any:
        yield "my "
        yield "own"

    async with rigged(twin, streaming(lambda event: own())) as rig:
        result = await rig.ask()
    assert (rig.said(), result.status) == (["my own"], "completed")


async def test_a_source_that_raises_is_an_error_with_an_embed(twin: Twin) -> None:
    async def own() -> Any:
        yield "so far"
        raise OSError("secret-key-123")

    async with rigged(twin, streaming(lambda event: own())) as rig:
        result = await rig.ask()
    assert (result.status, result.data.kind) == ("error", "api_error")
    assert rig.said()[0] == "so far"
    embed = twin.messages()[-1].embeds[0]
    assert embed["title"] == "Part of the answer is missing"
    assert "not complete" in embed["description"]
    assert "secret-key-123" not in str(twin.messages()) + str(result)


async def test_a_silent_provider_times_out_with_an_embed(twin: Twin) -> None:
    config = StreamConfig(first_token_timeout_ms=5_000, inactivity_timeout_ms=60)
    async with rigged(
        twin, streaming(lambda _: ScriptedProvider(["so far"], hangs=True), config=config)
    ) as rig:
        result = await rig.ask()
    assert (result.status, result.stop_reason) == ("timeout", "inactivity")
    assert rig.said()[0] == "so far"
    assert twin.messages()[-1].embeds[0]["title"] == "The answer took too long"


async def test_errors_can_be_kept_from_people(twin: Twin) -> None:
    async def own() -> Any:
        raise OSError
        yield

    async with rigged(twin, streaming(lambda _: own(), suppress_user_errors=True)) as rig:
        result = await rig.ask()
    assert result.status == "error"
    assert twin.journal.count(CREATE) == 0


async def test_the_words_are_the_readers(twin: Twin) -> None:
    async def own() -> Any:
        raise OSError
        yield

    async with rigged(twin, streaming(lambda _: own(), locale="de")) as rig:
        await rig.ask()
    assert "Modell" in twin.messages()[-1].embeds[0]["description"]


async def test_p20_p25_previews_are_off_and_nobody_is_rung_for(twin: Twin) -> None:
    async with rigged(twin, streaming(["@everyone see https://example.org"])) as rig:
        await rig.ask()
    body = twin.journal.requests(CREATE)[0].body
    assert body["flags"] & 4
    assert body["allowed_mentions"]["parse"] == []


@pytest.mark.parametrize(
    ("target", "source", "how", "names"),
    [
        (object(), ScriptedProvider(["x"]), {}, "object"),
        (True, ScriptedProvider(["x"]), {}, "bool"),
        ("general", ScriptedProvider(["x"]), {}, "str"),
        (1, "text", {}, "async iterable"),
        (1, ScriptedProvider(["x"]), {"replay": True}, "replay"),
        (1, ScriptedProvider(["x"]), {"reply": "always"}, "auto"),
        (1, ScriptedProvider(["x"]), {"policy": "later"}, "interrupt"),
        (1, ScriptedProvider(["x"]), {"edit": "yes"}, "edit"),
    ],
)
async def test_a_mistake_is_named(
    twin: Twin, target: Any, source: Any, how: Any, names: str
) -> None:
    async with rigged(twin, None) as rig:
        with pytest.raises((BadRequest, BadSetting), match=names):
            await rig.client.stream(target, source, **how)


async def test_a_closed_client_says_so(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        pass
    with pytest.raises(ClientClosed, match="make a new one"):
        await rig.client.stream(1, ScriptedProvider(["x"]))
    assert "closed" in repr(rig.client)


async def test_a_stopping_bot_finishes_its_sentence(twin: Twin) -> None:
    script = [(0.0, "First.\n\n"), (0.05, "Second"), (60.0, " never")]
    async with rigged(twin, streaming(script)) as rig:
        await twin.say("go", user="ann")
        await rig.until(lambda: rig.said() == ["First."])
        await anyio.sleep(0.1)
        await rig.bot.close()
        await rig.until(lambda: bool(rig.results))
    assert rig.said() == ["First.", "Second"]
    assert rig.results[0].status == "stopped_by_user"
    assert rig.results[0].stop_reason == "system_request"
