"""The demo's world: the same bot, a script for a model, and what the live page can do in it."""

from __future__ import annotations

from typing import Any

import pytest

from minamo.bot.demo.demo import Demo, demo_world
from minamo.bot.demo.provider import DemoProvider
from minamo.bot.demo.script import PIECES
from minamo.errors import BadRequest
from minamo.inspect.hub import Hub
from minamo.shell.turns.turn_result import TurnResult
from support.waiting import until

pytestmark = pytest.mark.anyio


def shown(world: Demo) -> list[str]:
    return [
        one.content
        for one in world.twin.messages()
        if one.author.is_bot and not one.is_ephemeral and one.content
    ]


ENDS = {
    "roll": ("completed", None),
    "error": ("error", None),
}


@pytest.mark.parametrize(
    "piece", [one for one in PIECES if not one.hangs], ids=lambda one: one.name
)
async def test_every_piece_ends_as_it_says(piece: Any) -> None:
    turns: list[TurnResult] = []
    async with demo_world(provider=DemoProvider(pace=0), told=turns.append) as world:
        await world.say(piece.prompt)
        await until(lambda: turns)
        assert (turns[0].status, turns[0].stop_reason) == ENDS.get(piece.name, ("completed", None))
        assert shown(world)
        assert all(len(text) <= 2000 for text in shown(world))
        together = "\n".join(shown(world))
        assert "<think>The" not in together
        assert "The sums are" not in together  # that was said between the tags of details


async def test_what_discord_would_not_take_is_told_and_not_swallowed() -> None:
    async with demo_world(provider=DemoProvider(pace=0)) as world:
        with pytest.raises(BadRequest, match="takes no such message"):
            await world.say("a" * 1_990)  # with the mention it is too long
        assert world.twin.messages() == []


async def test_what_was_hidden_is_kept() -> None:
    turns: list[TurnResult] = []
    async with demo_world(provider=DemoProvider(pace=0), told=turns.append) as world:
        for number, name in enumerate(("think", "details"), 1):
            await world.say(name)
            await until(lambda number=number: len(turns) == number)
        think, details = (one.as_stream_result() for one in turns)
        assert think.thought_log[0].startswith("The question is about colour.")
        assert "The sums are in the result" in details.details_content


async def test_the_hub_hears_of_streams_and_of_the_channel_once() -> None:
    turns: list[TurnResult] = []
    hub = Hub(recording=True)
    async with demo_world(hub=hub, provider=DemoProvider(pace=0), told=turns.append) as world:
        events: list[Any] = []
        page = hub.join(lambda: events.extend(page.take() if page else ()))
        assert page is not None
        page.take()
        await world.say("hello")
        await until(lambda: turns)
        hub.leave(page)
        kinds = [one["kind"] for one in events]
        assert {"opened", "moves", "ended", "message", "typing", "chart"} <= set(kinds)
        assert {one["chart"] for one in events if one["kind"] == "chart"} >= {"turn", "channel"}
        asked = [one for one in events if one["kind"] == "message" and "hello" in one["text"]]
        assert len(asked) == 1
        assert "general" in hub.feed.names.values()


async def test_the_buttons_of_the_page() -> None:
    turns: list[TurnResult] = []
    async with demo_world(told=turns.append) as world:
        assert [one.text for one in world.prompts] == [one.prompt for one in PIECES]
        with pytest.raises(BadRequest, match="no such message"):
            await world.say("x" * 3000)  # more than Discord takes
        await world.press("1", "nothing")
        await world.say("count slowly")
        await until(lambda: any(one.components for one in world.twin.messages()))
        (message,) = [one for one in world.twin.messages() if one.components]
        (button,) = [part for row in message.components for part in row["components"]]
        await world.press(str(message.id), "no such button")
        await world.press(str(message.id), button["custom_id"])
        await until(lambda: turns)
        assert (turns[0].status, turns[0].stop_reason) == ("stopped_by_user", "user_request")


async def test_another_question_interrupts() -> None:
    turns: list[TurnResult] = []
    async with demo_world(told=turns.append) as world:
        await world.say("count slowly")
        await until(lambda: world.twin.is_typing())
        await world.say("let it go wrong")
        await until(lambda: len(turns) == 2)
        assert [one.status for one in turns] == ["follow_up_interrupt", "error"]


async def test_stop_with_nothing_to_stop() -> None:
    async with demo_world() as world:
        await world.stop()
        await until(lambda: any(one.is_ephemeral for one in world.twin.messages()))
