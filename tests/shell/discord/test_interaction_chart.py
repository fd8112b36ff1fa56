"""The chart of an answer to an interaction: every row of it taken on the twin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import hikari
import pytest
from attrs import frozen

from minamo.core.messages import EPHEMERAL, OutgoingMessage
from minamo.machine import Coverage
from minamo.shell.delivery.interfaces import Accepted, Rejected, SendOutcome
from minamo.shell.discord import interaction
from minamo.shell.discord.interaction import CHART, EPHEMERAL_EXPIRED, InteractionSender
from minamo.twin import CALLBACK, CREATE, Twin
from minamo.twin.world import Interaction
from support.lanes import Clock, Post, asked, posting

pytestmark = pytest.mark.anyio
FILL = "PATCH /webhooks/{webhook}/{token}/messages/@original"
LOOK = "GET /webhooks/{webhook}/{token}/messages/@original"
DEFER = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
SEEN = Coverage(CHART)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask as often, but without waiting in between."""
    monkeypatch.setattr(interaction, "LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr(interaction, "DEFER_AGAIN_S", 0.001)


@frozen
class Scene:
    twin: Twin
    post: Post
    used: Interaction
    sender: InteractionSender
    clock: Clock

    async def say(self, text: str | OutgoingMessage) -> SendOutcome:
        return await self.sender.create(self.message(text) if isinstance(text, str) else text)

    def message(self, text: str) -> OutgoingMessage:
        return OutgoingMessage(channel_id=self.sender.bot.place, text=text)

    async def framework_defers(self, flags: int = 0) -> None:
        rest = self.post.rest
        await rest.create_interaction_response(self.used.id, self.used.token, DEFER, flags=flags)

    async def deferral_is_lost(self) -> None:
        self.twin.faults.drop(on=CALLBACK, times=3)
        await self.sender.defer()
        assert self.sender.state == "unseen"


@asynccontextmanager
async def scene(**options: Any) -> AsyncIterator[Scene]:
    clock = Clock()
    async with (
        Twin() as twin,
        posting(twin) as post,
        asked(post, clock=clock, watch=SEEN, **options) as (used, sender),
    ):
        yield Scene(twin, post, used, sender, clock)


async def test_deferred_filled_followed_up_and_expired() -> None:
    async with scene() as it:
        assert isinstance(await it.say("one"), Accepted)
        assert it.sender.state == "answered"
        assert isinstance(await it.say("two"), Accepted)
        it.clock.now += 901
        assert isinstance(await it.say("three"), Accepted)
        assert it.sender.state == "expired_public"
        assert it.twin.texts() == ["one", "two", "three"]
        assert it.twin.journal.count(CREATE) == 1


async def test_a_private_answer_ends_with_its_token() -> None:
    async with scene(ephemeral=True) as it:
        await it.say("one")
        it.clock.now += 901
        assert await it.say("two") == Rejected(EPHEMERAL_EXPIRED)
        assert it.sender.state == "expired_private"
        assert (it.twin.texts(ephemeral=True), it.twin.texts()) == (["one"], [])


async def test_a_deferral_that_never_arrived_is_noticed_when_it_is_filled() -> None:
    async with scene() as it:
        await it.deferral_is_lost()
        assert isinstance(await it.say("one"), Accepted)
        assert it.sender.state == "expired_public"
        assert it.twin.texts() == ["one"]


@pytest.mark.parametrize("flags", [0, EPHEMERAL])
async def test_what_a_framework_deferred_is_filled(flags: int) -> None:
    async with scene() as it:
        await it.framework_defers(flags)
        it.sender.was_deferred()
        assert await it.sender.is_waited_for()
        assert it.sender.state == "thinking"
        await it.say("one")
        assert it.twin.texts(ephemeral=bool(flags)) == ["one"]


async def test_what_a_framework_answered_is_left_alone() -> None:
    async with scene() as it:
        say = hikari.ResponseType.MESSAGE_CREATE
        await it.post.rest.create_interaction_response(it.used.id, it.used.token, say, "Wait.")
        await it.say("one")
        assert it.twin.texts() == ["Wait.", "one"]


@pytest.mark.parametrize("late", [False, True])
async def test_a_public_deferral_is_hidden_from_a_private_answer(late: bool) -> None:
    async with scene(ephemeral=True) as it:
        if late:
            await it.deferral_is_lost()
            assert await it.sender.is_private()
            assert it.sender.state == "thinking"
        await it.framework_defers()
        if late:
            assert not await it.sender.is_waited_for()
        await it.say("one")
        assert (it.twin.texts(ephemeral=True), it.twin.texts()) == (["one"], [])


@pytest.mark.parametrize("private", [False, True])
async def test_what_cannot_be_seen_counts_as_private(private: bool) -> None:
    async with scene(ephemeral=private) as it:
        await it.framework_defers(EPHEMERAL)
        it.sender.was_deferred()
        it.twin.faults.status(502, on=LOOK, times=100)
        assert await it.sender.is_private()
        await it.say("one")
        assert (it.twin.texts(ephemeral=True), it.twin.texts()) == (["one"], [])


async def test_what_a_framework_filled_is_not_waited_for() -> None:
    async with scene() as it:
        await it.sender.defer()
        assert await it.sender.is_waited_for()
        await it.post.rest.edit_interaction_response(it.twin.bot.id, it.used.token, "Done.")
        assert not await it.sender.is_waited_for()
        assert it.sender.state == "answered"


async def test_what_cannot_be_looked_at_again_is_not_waited_for() -> None:
    async with scene() as it:
        await it.framework_defers()
        it.sender.was_deferred()
        assert await it.sender.is_waited_for()
        it.twin.faults.status(502, on=LOOK, times=100)
        assert not await it.sender.is_waited_for()


async def test_a_message_that_is_refused_leaves_the_deferral_to_the_next() -> None:
    async with scene() as it:
        first = it.message(" ")
        assert await it.say(first) == Rejected("empty_message")
        assert await it.say(first) == Rejected("empty_message")
        assert it.sender.state == "filling"
        assert isinstance(await it.say("two"), Accepted)
        assert it.twin.texts() == ["two"]


async def test_a_message_in_doubt_is_repeated() -> None:
    async with scene() as it:
        first = it.message("one")
        it.twin.faults.drop(on=FILL, after_effect=True)
        await it.say(first)
        assert it.sender.state == "in_doubt"
        await it.say("two")
        assert isinstance(await it.say(first), Accepted)
        assert it.twin.texts() == ["one", "two"]


async def test_a_deferral_that_a_user_deleted_does_not_silence_the_answer() -> None:
    async with scene() as it:
        await it.sender.defer()
        await it.twin.delete(it.twin.messages()[0])
        assert isinstance(await it.say("one"), Accepted)
        assert it.twin.texts() == ["one"]


async def test_a_message_in_doubt_that_a_user_deleted_is_not_sent_again() -> None:
    async with scene() as it:
        first = it.message("one")
        it.twin.faults.drop(on=FILL, after_effect=True)
        await it.say(first)
        await it.twin.delete(it.twin.messages()[0])
        assert await it.say(first) == Rejected("unknown_message")
        assert it.twin.texts() == []


@pytest.mark.parametrize("private", [False, True])
async def test_a_message_in_doubt_stays_so_when_the_token_expires(private: bool) -> None:
    async with scene(ephemeral=private) as it:
        first = it.message("one")
        it.twin.faults.drop(on=FILL, after_effect=True)
        await it.say(first)
        it.clock.now += 901
        again, other = await it.say(first), await it.say("two")
        if private:
            assert again == other == Rejected(EPHEMERAL_EXPIRED)
        else:
            assert again == Rejected("interaction_expired")
            assert isinstance(other, Accepted)
        assert it.twin.texts(ephemeral=private) == (["one"] if private else ["one", "two"])


async def test_p09_every_row_of_the_chart_is_taken_on_the_twin(
    figure: Callable[[str], None],
) -> None:
    SEEN.taken.clear()
    await test_deferred_filled_followed_up_and_expired()
    await test_a_private_answer_ends_with_its_token()
    await test_a_deferral_that_never_arrived_is_noticed_when_it_is_filled()
    await test_what_a_framework_deferred_is_filled(0)
    await test_what_a_framework_answered_is_left_alone()
    await test_what_a_framework_filled_is_not_waited_for()
    await test_what_cannot_be_looked_at_again_is_not_waited_for()
    await test_a_message_that_is_refused_leaves_the_deferral_to_the_next()
    await test_a_message_in_doubt_is_repeated()
    await test_a_deferral_that_a_user_deleted_does_not_silence_the_answer()
    await test_a_message_in_doubt_that_a_user_deleted_is_not_sent_again()
    for is_so in (False, True):
        await test_a_public_deferral_is_hidden_from_a_private_answer(is_so)
        await test_what_cannot_be_seen_counts_as_private(is_so)
        await test_a_message_in_doubt_stays_so_when_the_token_expires(is_so)
    figure(str(SEEN))
    assert SEEN.missing == []
