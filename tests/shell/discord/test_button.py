"""The stop button and the other ways to stop: who may, when it appears, and when it goes."""

from __future__ import annotations

from typing import Any

import anyio
import hikari
import pytest

from minamo.core.messages import Button
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import SendOptions
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.discord.stop_controls import BUTTON
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import EDIT, Permission, Rules, Twin
from minamo.twin.world import Message
from support.bot import Rig, rigged, streaming
from support.lanes import Clock, asked, persona, posting, reasons, unpaced
from support.waiting import until

pytestmark = pytest.mark.anyio

STOP = SendOptions(button=Button("stop:1", "Stop"))


def buttons(message: Message) -> list[Any]:
    rows = message.components
    return [(one["custom_id"], one["label"], one["style"]) for r in rows for one in r["components"]]


def say(one: StreamQueue, *texts: str) -> None:
    for text in texts:
        one._source.put(text)
    one.deliver()


async def test_it_appears_and_disappears() -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], options=STOP)
        await one.answered()
        assert buttons(twin.messages()[0]) == [("stop:1", "Stop", 4)]
        used = await twin.click(twin.messages()[0], "stop:1")
        assert used.message_id == twin.messages()[0].id
        say(one, "second", "third")
        receipts = await one.finish()
        await until(lambda: not one.open)
        assert [buttons(message) for message in twin.messages()] == [[], [], []]
        assert twin.texts() == ["first", "second", "third"]
        assert [one.kind for one in receipts] == ["create"] * 3 == [r.kind for r in one.receipts]
        assert twin.journal.count(EDIT) == 1
        assert twin.journal.requests(EDIT)[0].body["allowed_mentions"]["parse"] == []


@pytest.mark.parametrize("end", ["stop", "kill", "error"])
async def test_it_goes_however_the_stream_ends(end: str) -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], options=STOP)
        await one.answered()
        if end == "error":
            with pytest.raises(RuntimeError):
                async with one:
                    raise RuntimeError
        else:
            one.withdraw(end)
            await one.finish()
        await until(lambda: not one.open)
        assert [buttons(message) for message in twin.messages()] == [[]]


async def test_it_goes_when_the_bot_does() -> None:
    async with Twin() as twin:
        async with posting(twin) as post:
            one = post.open(["first"], options=STOP)
            await one.answered()
            one.close()
        assert [buttons(message) for message in twin.messages()] == [[]]


async def test_a_reply_that_is_whole_at_once_has_none() -> None:
    async with Twin() as twin, posting(twin) as post:
        await post.send("all of it", options=STOP)
        assert (twin.texts(), twin.journal.count(EDIT)) == (["all of it"], 0)


async def test_if_it_stays_nothing_is_lost() -> None:
    async with Twin() as twin, posting(twin, max_retries=0) as post:
        twin.faults.drop(on=EDIT, times=None)
        one = post.open(["first"], options=STOP)
        await one.answered()
        assert reasons(await one.finish()) == [("delivered", "")]
        await until(lambda: not one.open)
        assert len(one.receipts) == 1
        assert not any(told.lost for told in one.receipts)
        (after,) = await post.send("next")
        assert after.delivered


async def test_the_next_stream_comes_after_it() -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], options=STOP)
        await one.answered()
        two = post.open(["other"])
        one.close()
        await two.finish()
        routes = [request.method for request in twin.journal.requests_made]
        assert routes == ["POST", "PATCH", "POST"]


@pytest.mark.parametrize("voice", ["persona", "interaction", "after the token"])
async def test_in_every_voice(voice: str) -> None:
    clock = Clock()
    async with Twin() as twin, posting(twin) as post:
        made = persona(post) if voice == "persona" else asked(post, clock=clock)
        async with made as got:
            sender = got if voice == "persona" else got[1]
            one = post.open(["first"], sender=sender, options=STOP)
            await one.answered()
            assert buttons(twin.messages()[0])
            if voice == "after the token":
                clock.now += 1000
            say(one, "second")
            await one.finish()
            await until(lambda: not one.open)
            assert [buttons(message) for message in twin.messages()] == [[], []]
            assert twin.texts() == ["first", "second"]
            assert twin.journal.count(EDIT) == (voice == "after the token")


@pytest.mark.parametrize("fresh", [False, True])
async def test_under_a_message_that_grows(fresh: bool) -> None:
    async with (
        Twin(rules=Rules(rate_limits=False)) as twin,
        posting(twin, pacer=unpaced()) as post,
    ):
        sender, pages = post.sender(), PageSet(fresh=fresh)
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt, options=STOP
        )
        for text in ("one", "one two", "one two three"):
            pages.show(text)
            one.deliver()
            await one.answered()
            assert buttons(twin.messages()[0])
        await one.finish()
        await until(lambda: not one.open)
        assert twin.texts() == ["one two three"]
        assert buttons(twin.messages()[0]) == []
        # A message that was removed has none to be taken away.
        assert twin.journal.count(EDIT) == (2 if fresh else 3)


#: One paragraph at once, half a sentence soon, then silence.
SLOW = [(0.0, "First.\n\n"), (0.02, "Second"), (60.0, " never")]


async def started(rig: Rig, user: str = "ann") -> None:
    await rig.twin.say("go", user=user)
    await rig.until(lambda: rig.said() == ["First."])
    await anyio.sleep(0.05)


async def ended(rig: Rig) -> Any:
    await rig.until(lambda: bool(rig.results))
    return rig.results[-1]


def answers(twin: Twin) -> list[str]:
    """What was said to one person only."""
    return [one.content for one in twin.messages() if one.flags & 64]


async def test_the_asker_stops_it_by_command(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW), stop_command="stop") as rig:
        await started(rig)
        await twin.slash("stop", user="ann")
        result = await ended(rig)
        await rig.until(lambda: answers(twin) == ["Stopped."])
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
    assert [text for text in rig.said() if text != "Stopped."] == ["First.", "Second"]


async def test_a_stranger_is_refused_politely(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW), stop_command="stop") as rig:
        await started(rig)
        await twin.slash("stop", user="bob")
        await rig.until(lambda: len(answers(twin)) == 1)
        assert "who asked" in answers(twin)[0]
        assert not rig.results
        await rig.client.kill(channel_id=twin.channel("general").id)
        await ended(rig)


async def test_a_moderator_may(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW), stop_command="stop") as rig:
        await started(rig)
        twin.allow("general", Permission.MANAGE_MESSAGES, user="mod")
        await twin.slash("stop", user="mod")
        assert (await ended(rig)).stop_reason == "user_request"


async def test_a_command_with_nothing_to_stop(twin: Twin) -> None:
    async with rigged(twin, streaming(["done"]), stop_command="stop") as rig:
        await rig.ask()
        await twin.slash("stop", user="ann")
        await rig.until(lambda: answers(twin) == ["Nothing is running here."])


async def test_the_button_stops_its_own_reply(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW, button=True)) as rig:
        await started(rig)
        shown = next(one for one in twin.messages() if one.components)
        custom_id = shown.components[0]["components"][0]["custom_id"]
        assert custom_id.startswith(BUTTON)
        await twin.click(shown, custom_id, user="bob")
        await rig.until(lambda: len(answers(twin)) == 1)
        assert not rig.results
        await twin.click(shown, custom_id, user="ann")
        result = await ended(rig)
        await rig.until(lambda: not any(one.components for one in twin.messages()))
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")


async def test_a_stale_stop_never_touches_the_next_reply(twin: Twin) -> None:
    async with rigged(twin, streaming(["one."])) as rig:
        await rig.ask()
        place = twin.channel("general").id
        assert not await rig.client.request_stop(channel_id=place, requester="1")
        assert not await rig.client.has_stop_request(channel_id=place)
        assert (await rig.ask()).status == "completed"


async def test_a_stop_by_channel_from_the_program(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW)) as rig:
        await started(rig)
        place = twin.channel("general").id
        assert await rig.client.request_stop(channel_id=place)
        result = await ended(rig)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "system_request")
    assert rig.said() == ["First.", "Second"]


async def test_a_kill_drops_what_was_not_sent(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW)) as rig:
        await started(rig)
        assert await rig.client.kill(channel_id=twin.channel("general").id)
        result = await ended(rig)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "killed")
    assert rig.said() == ["First."]
    assert result.suppressed["killed"] == len("Second")


async def test_a_newer_message_interrupts(twin: Twin) -> None:
    async with rigged(twin, streaming(lambda e: SLOW if e.content == "go" else ["new"])) as rig:
        await started(rig)
        await twin.say("wait, rather", user="ann")
        await rig.until(lambda: len(rig.results) == 2)
    assert [one.status for one in rig.results] == ["follow_up_interrupt", "completed"]
    assert rig.said() == ["First.", "new"]


async def test_a_follow_up_never_overrides_a_stop(twin: Twin) -> None:
    async with rigged(twin, streaming(SLOW)) as rig:
        await started(rig)
        place = twin.channel("general").id
        await rig.client.request_stop(channel_id=place, requester="7")
        await rig.client.request_follow_up(channel_id=place)
        result = await ended(rig)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")


async def test_questions_queue(twin: Twin) -> None:
    async with rigged(
        twin, streaming(lambda e: [(0.1, e.content)]), policy="queue", queue_max=2
    ) as rig:
        for word in ("one", "two", "three", "four"):
            await twin.say(word, user="ann")
        await rig.until(lambda: len(rig.results) == 4)
    assert rig.said() == ["one", "two", "three"]
    refused = [one for one in rig.results if one.status == "stopped_by_user"]
    assert [one.data.reason for one in refused] == ["queue_full"]
    asked = {one.content: one.id for one in twin.messages() if not one.author.is_bot}
    told = {one.content: one.reply_to for one in twin.messages() if one.author.is_bot}
    assert told["two"] == asked["two"]  # it had to wait, so it says what it answers


@pytest.mark.parametrize(
    ("policy", "phrase"), [("queue", "Hier warten schon zu viele"), ("ignore", "jemand anderem")]
)
async def test_who_used_a_command_is_told_why_there_is_no_answer(
    twin: Twin, policy: str, phrase: str
) -> None:
    twin.user("ann").locale = "de"
    async with rigged(twin, streaming(SLOW), policy=policy, queue_max=0) as rig:

        async def on_command(event: hikari.InteractionCreateEvent) -> None:
            if isinstance(event.interaction, hikari.CommandInteraction):
                await rig.client.stream(event.interaction, ScriptedProvider(["never said"]))

        rig.bot.subscribe(hikari.InteractionCreateEvent, on_command)
        await started(rig)
        await twin.slash("ask", user="ann")
        await rig.until(lambda: any(phrase in text for text in twin.texts()))
        await rig.client.kill(channel_id=twin.channel("general").id)
    assert "never said" not in twin.texts()


async def test_questions_are_ignored(twin: Twin) -> None:
    async with rigged(twin, streaming(lambda _: [(0.2, "one")]), policy="ignore") as rig:
        await twin.say("a", user="ann")
        await twin.say("b", user="bob")
        await rig.until(lambda: len(rig.results) == 2)
    assert rig.said() == ["one"]
    assert rig.results[0].data.reason == "busy"


async def test_two_channels_do_not_wait_for_each_other(twin: Twin) -> None:
    async with rigged(
        twin,
        streaming(lambda e: ScriptedProvider([(0.3 if e.content == "slow" else 0, e.content)])),
    ) as rig:
        await twin.say("slow", channel="general", user="ann")
        await twin.say("fast", channel="other", user="ann")
        await rig.until(lambda: len(rig.results) == 2)
    assert [one.accumulated_text for one in rig.results] == ["fast", "slow"]
