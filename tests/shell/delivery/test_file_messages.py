"""Files that models make, on their way to Discord: in order, once, with receipts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import hikari
import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk, FileChunk
from minamo.core.config import StreamConfig
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Permission, Rules, Twin
from minamo.wire.conversation import user
from support.bot import on_command, rigged, streaming
from support.lanes import unpaced
from support.provider_server import saying, serving
from support.recordings import adapter, recording

pytestmark = pytest.mark.anyio
CAT = FileChunk(b"\x89PNG cat", "image/png", "cat.png")
DOG = FileChunk(b"\x89PNG dog", "image/png", "dog.png")
REPLY: list[Any] = ["Here is a cat: ", CAT, "And a dog:", DOG, "Enjoy."]
SHOWN = ["Here is a cat:", {"cat.png": CAT.data}, "And a dog:", {"dog.png": DOG.data}, "Enjoy."]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.shell.delivery.typing.PAUSE_MAX_S", 0.0)  # do not pretend to type


@pytest.fixture
async def twin() -> AsyncIterator[Twin]:
    async with Twin(rules=Rules(rate_limits=False)) as made:
        yield made


def quick(twin: Twin, answer: Any, **settings: Any) -> Any:
    return rigged(twin, answer, pacer=unpaced(), **settings)


def shown(twin: Twin, channel: str = "general") -> list[Any]:
    """The bot's messages: their files, or else their text."""
    mine = [one for one in twin.messages(channel) if one.author.is_bot]
    return [one.files or one.content for one in mine]


def receipts(result: Any) -> list[tuple[str, str, str]]:
    return [(one.outcome, one.file, one.note) for one in result.receipts]


@pytest.mark.parametrize("how", [{}, {"persona": Persona("Mira")}])
async def test_files_stand_between_the_messages(twin: Twin, how: dict[str, Any]) -> None:
    async with quick(twin, streaming(REPLY, **how)) as rig:
        result = await rig.ask()
    assert shown(twin)[-5:] == SHOWN
    assert receipts(result)[-5:] == [
        ("delivered", "", ""), ("delivered", "cat.png", ""), ("delivered", "", ""),
        ("delivered", "dog.png", ""), ("delivered", "", ""),
    ]  # fmt: skip
    assert result.files == (CAT, DOG)
    assert result.status == "completed"


async def test_a_command_gets_its_files(twin: Twin) -> None:
    async with quick(twin, None) as rig:
        for script in (REPLY, [CAT]):
            off = on_command(rig, streamer(rig, script))
            await twin.slash("draw")
            await rig.until(lambda: bool(rig.results))
            off()
            result = rig.results.pop()
            assert result.status == "completed"
    assert shown(twin) == [*SHOWN, {"cat.png": CAT.data}]


def streamer(rig: Any, script: list[Any]) -> Any:
    async def answer(one: hikari.CommandInteraction) -> Any:
        return await rig.client.stream(one, ScriptedProvider(script))

    return answer


async def test_a_reply_that_is_edited_in_place_has_its_files_at_the_end(twin: Twin) -> None:
    for fresh in (False, True):
        async with quick(twin, streaming(REPLY, edit=True, fresh=fresh)) as rig:
            result = await rig.ask()
        text = "Here is a cat: \n\nAnd a dog:\n\nEnjoy."
        cleaned = shown(twin)[-3].replace(" \n", "\n")
        assert cleaned == text.replace(" \n", "\n")
        assert shown(twin)[-2:] == [{"cat.png": CAT.data}, {"dog.png": DOG.data}]
        assert result.files == (CAT, DOG)
        assert result.status == "completed"
        assert len(twin.texts()) == 3 * (1 + fresh)


async def test_a_file_alone_in_place_and_the_limit(twin: Twin) -> None:
    async with quick(twin, streaming([CAT, DOG], edit=True)) as rig:
        result = await rig.ask()
        assert (result.status, result.files) == ("completed", (CAT, DOG))
    config = StreamConfig(send_message_limit=2)
    async with quick(twin, streaming(["a", CAT, DOG], edit=True), config=config) as rig:
        result = await rig.ask()
    assert (result.status, result.stop_reason) == ("stopped_by_user", "send_message_limit")
    assert result.files == (CAT,)


async def test_a_rate_limit_sends_no_file_twice(twin: Twin) -> None:
    twin.faults.limited(0.1, CREATE, skip=1)
    twin.faults.drop(CREATE, after_effect=True, skip=3)
    async with quick(twin, streaming(REPLY)) as rig:
        result = await rig.ask()
    assert shown(twin) == SHOWN
    assert result.files == (CAT, DOG)


async def test_a_file_that_discord_refuses_is_a_line_in_its_place() -> None:
    rules = Rules(file_bytes_max=8, rate_limits=False)
    async with Twin(rules=rules) as twin:
        big = FileChunk(b"x" * 9, "image/png", "big.png")
        async with quick(twin, streaming(["a", big, CAT, "b"]), locale="de") as rig:
            result = await rig.ask()
        assert shown(twin) == [
            "a",
            "-# big.png konnte nicht angehängt werden.",
            {"cat.png": CAT.data},
            "b",
        ]
        assert receipts(result)[1] == ("delivered", "", "no_file:too_large")
        assert (result.status, result.files) == ("completed", (CAT,))


@pytest.mark.parametrize("data", [b"x" * 10_000_001, b""], ids=["too large", "not even read"])
@pytest.mark.parametrize("edit", [False, True])
async def test_a_file_over_the_limit_is_not_even_tried(twin: Twin, data: bytes, edit: bool) -> None:
    big = FileChunk(data, "image/png", "big.png")
    async with quick(twin, streaming(["a", big], edit=edit)) as rig:
        result = await rig.ask()
        assert len(twin.journal.requests(CREATE)) == 2
    assert shown(twin) == ["a", "-# big.png could not be attached."]
    assert (result.status, result.files) == ("completed", ())


async def test_without_the_permission_the_text_arrives(twin: Twin) -> None:
    twin.deny("general", Permission.ATTACH_FILES)
    async with quick(twin, streaming(REPLY)) as rig:
        result = await rig.ask()
    assert shown(twin)[1::2] == [f"-# {one.name} could not be attached." for one in (CAT, DOG)]
    assert (result.status, result.files) == ("completed", ())


async def test_in_a_closed_channel_a_file_is_lost_like_text(twin: Twin) -> None:
    async with quick(twin, streaming(["a", CAT, (0.3, "b"), (0.3, "c")])) as rig:
        asking = await twin.say("hi", user="ann")
        await rig.until(lambda: len(shown(twin)) >= 1)
        twin.deny("general", Permission.SEND_MESSAGES)
        await rig.until(lambda: bool(rig.results))
        assert rig.results[0].status == "error"
        del asking


@pytest.mark.parametrize("edit", [False, True])
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_stop_sends_the_file_and_a_kill_does_not(end: str, edit: bool) -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        twin.faults.delay(0.4, CREATE, times=1)
        script = ScriptedProvider(["a\n\n", CAT, "b"], hangs=True)
        async with quick(twin, streaming(lambda _: script, edit=edit)) as rig:
            await twin.say("hi", user="ann")
            await anyio.sleep(0.2)
            place = twin.channel("general").id
            if end == "stop":
                await rig.client.request_stop(channel_id=place, requester="1")
            else:
                await rig.client.kill(channel_id=place)
            await rig.until(lambda: bool(rig.results))
            result = rig.results[0]
        files = (CAT,) if end == "stop" else ()
        assert result.files == files
        assert result.status == "stopped_by_user"
        cat = {"cat.png": CAT.data}
        if end == "kill":
            assert shown(twin) == ["a"]
        elif edit:
            assert shown(twin) == ["a\n\n\n\nb", cat]
        else:
            assert shown(twin) == ["a", cat, "b"]


@pytest.mark.parametrize("to", ["file", "thread"])
async def test_a_long_reply_keeps_its_files(twin: Twin, to: Any) -> None:
    script = ["a\n\n", "b\n\n", "c\n\n", CAT, "d"]
    async with quick(twin, streaming(script, overflow=Overflow(2, to))) as rig:
        result = await rig.ask()
    assert result.status == "completed"
    assert result.files == (CAT,)
    if to == "file":
        assert shown(twin) == ["a", "b", {"reply.md": b"c\n\nd"}, {"cat.png": CAT.data}]
    else:
        assert shown(twin, "The rest of the reply") == ["c", {"cat.png": CAT.data}, "d"]


async def test_own_parts_go_to_the_file_if_it_is_the_last_message(twin: Twin) -> None:
    extra = hikari.Bytes(b"own", "own.txt")
    async with quick(twin, streaming(["a", CAT], attachments=[extra])) as rig:
        await rig.ask()
        embed = hikari.Embed(title="own")
        rig.results.clear()
        await rig.client.stream(twin.channel("general").id, ScriptedProvider([CAT]), embeds=[embed])
    assert shown(twin)[:3] == ["a", {"cat.png": CAT.data}, {"own.txt": b"own"}]
    assert [one["title"] for one in twin.messages()[-1].embeds] == ["own"]


async def test_a_turn_of_only_a_file_is_an_answer(twin: Twin) -> None:
    async def answer(rig: Any, event: Any) -> Any:
        return await rig.client.turn(
            event, ScriptedProvider([CAT, DoneChunk("stop")]), [user("draw")]
        )

    async with quick(twin, answer) as rig:
        turn = await rig.ask()
    assert (turn.status, shown(twin)) == ("completed", [{"cat.png": CAT.data}])


async def test_a_file_then_an_error(twin: Twin) -> None:
    async with quick(twin, streaming([CAT, ErrorChunk("api_error", "no")])) as rig:
        result = await rig.ask()
    assert (result.status, result.files) == ("error", (CAT,))
    assert shown(twin)[0] == {"cat.png": CAT.data}


@pytest.mark.parametrize(
    "name", ["google-18-image", "openai-18-image", "responses-image", "openai-19-speech"]
)
async def test_from_the_providers_bytes_to_the_channel(twin: Twin, name: str) -> None:
    async with (
        serving(saying(recording(name))) as server,
        adapter(name, server.url) as llm,
        quick(twin, streaming(lambda _: llm.ask("draw"))) as rig,
    ):
        result = await rig.ask()
    files = [(one.name, one.data) for one in result.files]
    sent = [pair for one in shown(twin) if isinstance(one, dict) for pair in one.items()]
    assert result.status == "completed"
    assert files
    assert sent == files
    assert [one.file for one in result.receipts if one.file] == [one for one, _ in files]
