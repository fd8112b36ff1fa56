"""Every answer to an interaction, with every fault of Discord and every act of its user (P1, P19, P20).

The real sender talks to a small model of Discord.  Wherever something may happen or not, the model
asks a `Chooser`, which goes through all possibilities one after the other, with a limited number of
faults in each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import hikari
import pytest
from attrs import define, field

from minamo.core.messages import EPHEMERAL, OutgoingMessage
from minamo.machine import compile
from minamo.shell.delivery.interfaces import Accepted, Rejected, RetryLater, SendOutcome, Unknown
from minamo.shell.discord import interaction
from minamo.shell.discord.interaction import (
    CHART,
    LOADING,
    TOKEN_S,
    InteractionActions,
    InteractionSender,
)
from simulation.choices import Chooser

PLACE = 7
UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK, ANSWERED, EXPIRED, BAD_TOKEN, AUTOMOD = (
    10008, 10015, 40060, 10062, 50027, 200000,
)  # fmt: skip


def refused(code: int) -> hikari.ClientHTTPResponseError:
    return hikari.NotFoundError("", {}, b"", "no", code)


@define(eq=False)
class Discord:
    """The calls of hikari's client that an answer needs; a fault uses up one of *faults*."""

    chooser: Chooser
    faults: int
    is_answered: bool = False
    original: str | None = None
    """The first response: a text, "" while it is deferred, None if it was deleted."""
    is_private: bool = False
    """Whether only the user of the interaction sees the first response."""
    seen: list[tuple[str, bool]] = field(factory=list)
    """Each text that was shown, and whether it was in private."""
    now: float = 0.0
    by_nonce: set[int] = field(factory=set)

    @property
    def is_over(self) -> bool:
        return self.now >= TOKEN_S

    def defer(self, flags: int) -> None:
        self.is_answered, self.original, self.is_private = True, "", bool(flags & EPHEMERAL)

    async def _call(self, effect: Callable[[], Any]) -> Any:
        """Make a call; it is lost, its answer is lost, Discord's filter refuses it, or it arrives."""
        fault = self.chooser.choose(4) if self.faults else 0
        self.faults -= fault > 0
        if fault == 1:
            raise hikari.HTTPError("lost")
        if fault == 2:
            raise refused(AUTOMOD)
        answer = effect()
        if fault == 3:
            raise hikari.HTTPError("lost")
        return answer

    def _check(self, *, original: bool = False) -> None:
        """Refuse a call whose token is not valid, or which needs the *original* that is gone."""
        if self.is_over:
            raise refused(BAD_TOKEN)
        if not self.is_answered:
            raise refused(UNKNOWN_WEBHOOK)
        if original and self.original is None:
            raise refused(UNKNOWN_MESSAGE)

    async def create_interaction_response(self, *_: object, flags: Any) -> None:
        def effect() -> None:
            if self.now > 3:
                raise refused(EXPIRED)
            if self.is_answered:
                raise refused(ANSWERED)
            self.defer(0 if flags is hikari.UNDEFINED else flags)

        await self._call(effect)

    async def fetch_interaction_response(self, *_: object) -> Any:
        def effect() -> Any:
            self._check(original=True)
            return Seen((EPHEMERAL if self.is_private else 0) | (0 if self.original else LOADING))

        return await self._call(effect)

    async def edit_interaction_response(self, _: int, __: str, text: str, **___: Any) -> None:
        def effect() -> None:
            self._check(original=True)
            if self.original != text:
                self.seen.append((text, self.is_private))
            self.original = text

        await self._call(effect)

    async def delete_interaction_response(self, *_: object) -> None:
        def effect() -> None:
            self._check(original=True)
            self.original = None

        await self._call(effect)

    async def execute_webhook(self, _: int, __: str, text: str, **asked: Any) -> None:
        def effect() -> None:
            self._check()
            if self.original == "":  # a follow-up becomes the response, with its visibility
                self.original = text
                self.seen.append((text, self.is_private))
            else:
                self.seen.append((text, bool(asked.get("flags", 0) & EPHEMERAL)))

        await self._call(effect)

    # The bot's own sender, after the token.

    place = PLACE

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        def effect() -> None:
            if id(post) not in self.by_nonce:
                self.by_nonce.add(id(post))
                self.seen.append((post.text, False))

        try:
            await self._call(effect)
        except hikari.ClientHTTPResponseError:
            return Rejected("automod")
        except hikari.HTTPError:
            return Unknown("connection")
        return Accepted(1)


@define
class Seen:
    flags: int


FRAMEWORK = ("nothing", "public", "private", "public, untold", "private, untold")


async def answer(discord: Discord, framework: str, *, wants_private: bool) -> InteractionSender:
    """Send two messages as a lane does: what is in doubt is repeated while that is safe."""
    chooser = discord.chooser
    if framework != "nothing":
        discord.defer(EPHEMERAL if framework.startswith("private") else 0)
    rest: Any = discord
    sender = InteractionSender(
        rest, 1, 2, "t", rest, ephemeral=wants_private, clock=lambda: discord.now
    )
    if framework in ("public", "private"):
        sender.was_deferred()
    is_secret = wants_private or framework.startswith("private")
    for text in ("one", "two"):
        post = OutgoingMessage(channel_id=PLACE, text=text)
        is_in_doubt = False
        for _ in range(3):
            if discord.faults and (act := chooser.choose(3)):
                discord.faults -= 1
                if act == 1:
                    discord.now = TOKEN_S + 1
                elif discord.original is not None:
                    discord.original = None  # its user deletes it
            told = await sender.create(post)
            is_in_doubt = is_in_doubt or isinstance(told, Unknown)
            if not isinstance(told, RetryLater | Unknown) or getattr(told, "final", False):
                break
        times = [shown for shown in discord.seen if shown[0] == text]
        assert len(times) <= 1, "a message is shown twice"
        if isinstance(told, Accepted):
            assert times, "a message that was accepted was never shown"
        elif not is_in_doubt:
            assert not times, "a message that was refused is shown"
    if is_secret:
        assert all(private for _, private in discord.seen), "a private answer is shown in public"
    return sender


def explore(faults: int) -> tuple[int, set[str]]:
    """Go through all possibilities; return their number, and the states in which they end."""
    runs, states = 0, set[str]()

    async def every() -> None:
        nonlocal runs
        for framework in FRAMEWORK:
            for wants_private in (False, True):
                chooser = Chooser()
                while True:
                    discord = Discord(chooser, faults)
                    try:
                        sender = await answer(discord, framework, wants_private=wants_private)
                    except AssertionError as error:
                        error.add_note(f"{framework=} {wants_private=} {chooser} {discord.seen}")
                        raise
                    states.add(sender.state)
                    if discord.faults == faults:
                        assert [text for text, _ in discord.seen] == ["one", "two"]
                    runs += 1
                    if not chooser.next():
                        break

    asyncio.run(every())
    return runs, states


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try twice, and do not wait in between."""
    for name, value in {
        "LOOK_AGAIN_S": 0,
        "DEFER_AGAIN_S": 0,
        "LOOK_ATTEMPTS": 2,
        "DEFER_ATTEMPTS": 2,
    }.items():
        monkeypatch.setattr(interaction, name, value)


def test_p19_p20_every_answer_with_two_faults(figure: Callable[[str], None]) -> None:
    runs, states = explore(2)
    figure(f"P19: {runs:,} answers to interactions, all with two faults or acts of a user at most")
    final = {leaf.id for leaf in CHART.leaves if leaf.final}
    assert final <= states


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p19_p20_every_answer_with_four_faults(figure: Callable[[str], None]) -> None:
    runs, _ = explore(4)
    figure(f"P19: {runs:,} answers to interactions, all with four faults or acts of a user at most")


# It would find what is wrong.


def never(*_: object) -> bool:
    return False


@pytest.mark.parametrize(
    ("name", "instead", "wrong"),
    [
        ("hide", never, "in public"),
        ("private", never, "in public"),
        ("same", never, "twice"),
        ("give_up", InteractionActions.follow_up, "twice"),
    ],
)
def test_a_broken_action_is_found(
    name: str, instead: Callable[..., object], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = type("Broken", (InteractionActions,), {name: instead})
    monkeypatch.setattr(interaction, "TABLE", compile(CHART, broken))
    with pytest.raises(AssertionError, match=wrong):
        explore(3)
