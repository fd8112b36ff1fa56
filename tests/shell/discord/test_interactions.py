"""Answers to slash commands: deferred, filled, followed up, and after the token in the channel."""

from __future__ import annotations

from typing import Any

import anyio
import hikari
import pytest

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.discord import interaction as interacting
from minamo.shell.discord.bot import BotSender
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.turns.turn_result import TurnSettings
from minamo.twin import CALLBACK, CREATE, EXECUTE, TYPING, Rules, Twin
from minamo.twin.world import EPHEMERAL
from minamo.wire.conversation import user
from support.bot import on_command, rigged
from support.lanes import Clock, asked, posting, reasons, unpaced

pytestmark = pytest.mark.anyio

FILL = "PATCH /webhooks/{webhook}/{token}/messages/@original"
LOOK = "GET /webhooks/{webhook}/{token}/messages/@original"
FIVE = ["one", "two", "three", "four", "five"]


async def test_deferred_filled_and_followed_up() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        await sender.defer()
        assert used.callback_type == 5
        receipts = await post.send(*FIVE, sender=sender)
        assert reasons(receipts) == [("delivered", "")] * 5
        assert twin.texts() == FIVE
        assert [one.message_id for one in receipts] == [one.id for one in twin.messages()]
        assert (used.original_id, len(used.follow_ups)) == (twin.messages()[0].id, 4)
        assert twin.journal.count(CREATE) == 0
        assert twin.journal.count(status=429) == 0
        assert used.token not in repr(sender)


async def test_what_was_not_deferred_is_before_the_first_message() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (_used, sender):
        await post.send("hello", sender=sender)
        assert (twin.texts(), twin.journal.count(CALLBACK)) == (["hello"], 1)


@pytest.mark.parametrize("after_effect", [True, False])
async def test_a_deferral_whose_answer_is_lost_is_made_again(after_effect: bool) -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        twin.faults.drop(on=CALLBACK, after_effect=after_effect)
        await sender.defer()
        await post.send("hello", "more", sender=sender)
        assert (twin.texts(), len(used.follow_ups)) == (["hello", "more"], 1)
        assert twin.journal.count(CALLBACK) == 2


async def test_what_a_framework_deferred_is_filled() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        defer = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
        await post.rest.create_interaction_response(used.id, used.token, defer, flags=EPHEMERAL)
        await sender.defer()
        await post.send("hello", "more", sender=sender)
        assert twin.texts(ephemeral=True) == ["hello", "more"]
        assert twin.texts() == []
        assert twin.journal.count(FILL) == 1


async def test_what_a_framework_answered_is_left_alone() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        say = hikari.ResponseType.MESSAGE_CREATE
        await post.rest.create_interaction_response(used.id, used.token, say, "Wait a moment.")
        await post.send("hello", "more", sender=sender)
        assert twin.texts() == ["Wait a moment.", "hello", "more"]


@pytest.mark.parametrize("private", [True, False])
async def test_a_public_deferral_is_not_filled_with_a_private_answer(private: bool) -> None:
    async with (
        Twin() as twin,
        posting(twin) as post,
        asked(post, ephemeral=private) as (used, sender),
    ):
        defer = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
        await post.rest.create_interaction_response(used.id, used.token, defer)
        await post.send("hello", sender=sender)
        assert twin.texts(ephemeral=private) == ["hello"]
        assert twin.texts(ephemeral=not private) == []


async def test_too_late_to_answer_is_told_in_the_channel() -> None:
    clock = Clock()
    async with Twin(clock=clock) as twin, posting(twin) as post, asked(post) as (used, sender):
        clock.now += 3.5
        assert reasons(await post.send("hello", "more", sender=sender)) == [("delivered", "")] * 2
        assert sender.fell_back == "interaction_expired"
        assert (twin.texts(), used.is_answered) == (["hello", "more"], False)
        bodies = [one.body for one in twin.journal.requests(CREATE)]
        assert all(body["enforce_nonce"] for body in bodies)


@pytest.mark.parametrize("told", [True, False], ids=["our clock", "Discord's refusal"])
async def test_the_token_ends_in_mid_reply(told: bool) -> None:
    theirs, ours = Clock(), Clock()
    async with (
        Twin(clock=theirs) as twin,
        posting(twin, pacer=unpaced()) as post,
        asked(post, clock=ours) as (used, sender),
    ):
        one = post.open(FIVE[:3], sender=sender)
        await one.answered()
        theirs.now += 901
        ours.now += 901 if told else 0
        for text in FIVE[3:]:
            one._source.put(text)
        one.deliver()
        receipts = await one.finish()
        assert reasons(receipts) == [("delivered", "")] * 5
        assert twin.texts() == FIVE
        assert len(used.follow_ups) == 2
        assert twin.journal.count(EXECUTE) == (2 if told else 3)
        assert [one.webhook_id is None for one in twin.messages()] == [False] * 3 + [True] * 2
        # What was said with the token can be changed without it.
        first = receipts[0].message_id
        assert first is not None
        assert await sender.delete(sender.bot.place, first)
        assert twin.texts() == FIVE[1:]


async def test_a_private_answer_never_goes_to_the_channel() -> None:
    theirs, ours = Clock(), Clock()
    async with (
        Twin(clock=theirs) as twin,
        posting(twin) as post,
        asked(post, clock=ours, ephemeral=True) as (_used, sender),
    ):
        one = post.open(["one", "two"], sender=sender)
        await one.answered()
        assert all(message.is_ephemeral for message in twin.messages())
        theirs.now += 901
        one._source.put("three")
        one.deliver()
        receipts = await one.finish()
        assert reasons(receipts)[2] == ("refused", interacting.EPHEMERAL_EXPIRED)
        assert (twin.texts(), twin.journal.count(CREATE)) == ([], 0)
        assert twin.texts(ephemeral=True) == ["one", "two"]
        await sender.typing(sender.bot.place)
        assert twin.journal.count(TYPING) == 0


async def test_the_first_message_is_repeated_when_its_answer_is_lost() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        twin.faults.drop(on=FILL, after_effect=True)
        (first, _second) = await post.send("hello", "more", sender=sender)
        assert (first.outcome, first.attempts) == ("delivered", 2)
        assert first.message_id == used.original_id
        assert twin.texts() == ["hello", "more"]


async def test_p19_a_follow_up_whose_answer_is_lost_is_unknown_and_not_doubled() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (_used, sender):
        twin.faults.drop(on=EXECUTE, after_effect=True)
        receipts = await post.send("one", "two", "three", sender=sender)
        assert reasons(receipts) == [
            ("delivered", ""),
            ("unknown", "connection"),
            ("delivered", ""),
        ]
        assert receipts[1].attempts == 1
        assert twin.texts() == ["one", "two", "three"]


async def test_in_doubt_nothing_goes_to_the_channel() -> None:
    theirs = Clock()
    async with Twin(clock=theirs) as twin, posting(twin) as post, asked(post) as (_used, sender):
        await sender.defer()
        twin.faults.drop(on=FILL, after_effect=True)
        one = post.open(["hello"], sender=sender)
        await twin.journal.until(lambda: twin.texts() == ["hello"])
        theirs.now += 901
        one._source.put("more")
        one.deliver()
        assert reasons(await one.finish()) == [("unknown", "bad_token"), ("delivered", "")]
        assert twin.texts() == ["hello", "more"]


async def test_what_discord_refuses_is_refused() -> None:
    rules = Rules(automod_words=("curse",))
    async with Twin(rules=rules) as twin, posting(twin) as post, asked(post) as (_used, sender):
        receipts = await post.send(" ", "fine", sender=sender)
        assert reasons(receipts) == [("refused", "empty_message"), ("delivered", "")]
        assert twin.texts() == ["fine"]
        assert twin.journal.count(CREATE) == 0


async def test_an_answer_that_a_user_deleted_does_not_silence_the_reply() -> None:
    async with Twin() as twin, posting(twin) as post, asked(post) as (used, sender):
        await sender.defer()
        await twin.delete(twin.messages()[0])
        assert reasons(await post.send("hello", sender=sender)) == [("delivered", "")]
        assert (twin.texts(), len(used.follow_ups)) == (["hello"], 1)


async def test_thinking_is_all_the_typing_until_the_channel() -> None:
    clock = Clock()
    async with Twin() as twin, posting(twin) as post, asked(post, clock=clock) as (_used, sender):
        await sender.defer()
        one = post.open([], sender=sender, typing=True)
        await one.answered()
        one._source.put("hello")
        one.deliver()
        await one.answered()
        assert twin.journal.count(TYPING) == 0
        clock.now += 901
        one._source.put("more")
        one.deliver()
        await one.answered()
        await twin.journal.until(lambda: twin.journal.count(TYPING))
        await one.finish()
        assert twin.texts() == ["hello", "more"]


async def test_an_answer_grows_in_place() -> None:
    async with (
        Twin() as twin,
        posting(twin, pacer=unpaced()) as post,
        asked(post) as (used, sender),
    ):
        pages = PageSet()
        one = post.lanes.open(
            sender.bot.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
        )
        whole = "word " * 900
        for size in (10, 1500, 3000, len(whole)):
            pages.show(whole[:size])
            one.deliver()
            await one.answered()
        assert all(one.delivered for one in await one.finish())
        assert " ".join(twin.texts()).split() == whole.split()
        assert len(used.follow_ups) == len(twin.texts()) - 1 == 2


LOADING = 1 << 7
SILENT = ScriptedProvider([], hangs=True)


def thinking(twin: Twin, channel: str = "general") -> list[Any]:
    """Deferred answers that are still empty."""
    return [one for one in twin.messages(channel) if one.flags & LOADING]


@pytest.mark.parametrize("end", ["stop", "kill", "follow_up"])
async def test_who_is_shown_nothing_is_told_so(twin: Twin, end: str) -> None:
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, SILENT))
        await twin.slash("ask")
        await rig.until(lambda: len(thinking(twin)) == 1)
        await anyio.sleep(0.05)
        place = twin.channel("general").id
        if end == "stop":
            await rig.client.request_stop(channel_id=place, requester="1")
        elif end == "kill":
            await rig.client.kill(channel_id=place)
        else:
            await rig.client.request_follow_up(channel_id=place)
        await rig.until(lambda: bool(rig.results))
        assert rig.said() == ["Stopped."]
    assert not thinking(twin)


async def test_who_stops_a_failed_command_before_its_notice_is_told_so(twin: Twin) -> None:
    failing = ScriptedProvider([ErrorChunk("api_error")])
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, failing))
        place = twin.channel("general").id
        before = BotSender(rig.bot.rest, place)
        lanes = (await rig.client.orchestrator()).lanes
        async with lanes.open(place, before, TextQueue(), stream_id="before"):
            await twin.slash("ask")
            await rig.until(lambda: len(thinking(twin)) == 1)
            await anyio.sleep(0.2)
            assert not rig.results  # the notice waits for the reply before it
            await rig.client.kill(channel_id=place)
            await rig.until(lambda: bool(rig.results))
        assert rig.results[0].status == "error"
        assert rig.said() == ["Stopped."]
    assert not thinking(twin)


async def test_who_waits_and_is_overtaken_is_told_so(twin: Twin) -> None:
    async with rigged(twin, None) as rig:

        async def answer(one: hikari.CommandInteraction) -> Any:
            return await rig.client.stream(one, SILENT, policy=one.command_name)  # type: ignore[arg-type]

        on_command(rig, answer)
        for number, name in enumerate(("interrupt", "queue"), 1):
            await twin.slash(name)
            await rig.until(lambda count=number: len(thinking(twin)) == count)
            await anyio.sleep(0.1)
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: len(rig.results) == 2)
        assert rig.said() == ["Stopped.", "Stopped."]


async def test_a_model_that_says_nothing_still_answers_a_command(twin: Twin) -> None:
    settings = TurnSettings(silence_marker="<silence/>", empty_retries=0)

    async def answer(one: hikari.CommandInteraction) -> Any:
        if one.command_name == "stream":
            return await rig.client.stream(one, ScriptedProvider([]))
        silence = ScriptedProvider(["<silence/>"])
        return await rig.client.turn(one, silence, [user("hi")], settings=settings)

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        for number, name in enumerate(("stream", "turn"), 1):
            await twin.slash(name)
            await rig.until(lambda count=number: len(rig.results) == count)
    assert rig.said() == ["The model had nothing to say."] * 2


async def test_an_answer_that_the_caller_still_gives_is_left_to_them(twin: Twin) -> None:
    hushed = StreamConfig(suppress_text_output=True)

    async def answer(one: hikari.CommandInteraction) -> Any:
        call = FunctionCall((Call("roll"),))
        await rig.client.stream(one, ScriptedProvider([call]))
        await rig.client.stream(one, ScriptedProvider([]), config=hushed)
        assert len(thinking(twin)) == 1
        await one.edit_initial_response("a picture")
        return await rig.client.stream(one, ScriptedProvider([]))

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert rig.said() == ["a picture"]


async def test_the_thoughts_behind_what_one_person_sees_only_they_see(twin: Twin) -> None:
    async def answer(one: hikari.CommandInteraction) -> Any:
        source = ScriptedProvider(["<think>a secret</think>Hello."])
        return await rig.client.stream(
            one, source, ephemeral=True, thoughts=ThoughtDisplay("spoiler")
        )

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert twin.texts(ephemeral=True) == ["Hello.", "||a secret||"]
    assert all(one.is_ephemeral for one in twin.messages())


async def test_a_persona_cannot_whisper(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        with pytest.raises(BadSetting, match="persona"):
            await rig.client.stream(1, SILENT, ephemeral=True, persona=Persona("Mira"))


async def test_a_command_that_a_persona_answers_has_an_answer_of_its_own(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        on_command(
            rig,
            lambda one: rig.client.stream(
                one, ScriptedProvider(["Hello."]), persona=Persona("Mira")
            ),
        )
        asked = await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
        assert asked.is_answered
    assert rig.results[0].status == "completed"
    assert [(one.content, one.author.name) for one in twin.messages()] == [
        ("Mira answers below.", "twin-bot"),
        ("Hello.", "Mira"),
    ]
    assert twin.messages()[0].is_ephemeral


async def test_a_channel_that_is_deleted_under_a_command(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, ScriptedProvider([(0.2, "Hello.")])))
        twin.channel("gone")
        await twin.slash("ask", channel="gone")
        await rig.until(lambda: bool(thinking(twin, "gone")))
        twin.delete_channel("gone")
        await rig.until(lambda: bool(rig.results))
    assert (rig.results[0].status, rig.results[0].stop_reason) == ("error", "delivery_lost")
    assert rig.results[0].receipts[0].reason == "unknown_channel"
