"""The sender for slash commands and buttons: the deferred response first, then follow-ups.

The first message is an *edit* of the deferred response, so repeating it cannot show it twice.
Follow-ups have no nonce and are sent at most once.  The token lasts fifteen minutes; a longer reply
continues in the channel as the bot, whose messages have nonces, but only with messages that Discord
certainly did not accept, and never with ephemeral ones.

Discord decides whether a response is ephemeral: the bot's author, or a framework with settings of
its own, may have deferred it so.  If Discord cannot be asked, the response counts as ephemeral.

Which of these calls is made when is decided by statecharts/interaction.yaml.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import Any

import anyio
import hikari
from attrs import define, field

from minamo.core.messages import EPHEMERAL, Kind, OutgoingMessage
from minamo.machine import Machine, RunningClocks, compile, load
from minamo.machine.machine import Observer
from minamo.shell.delivery.interfaces import Accepted, Rejected, RetryLater, SendOutcome, Unknown
from minamo.shell.discord.bot import (
    BotSender,
    CallRunner,
    creating,
    edited_flags,
    mark_unrepeatable,
    or_undefined,
    treat_missing_as_deleted,
)
from minamo.shell.discord.webhook import edit_by_token, flagged

# The token lasts 15 minutes; the margin keeps calls in flight from being refused.
TOKEN_S = 15 * 60.0
MARGIN_S = 30.0
# Discord waits 3 s for the first response; a lost call leaves time for two more.
DEFER_ATTEMPTS = 3
DEFER_AGAIN_S = 0.2
# A bot without a gateway defers with its answer to Discord's request, which may still be in flight
# when the response is fetched; a fetch whose answer was lost is repeated as well.
LOOK_ATTEMPTS = 6
LOOK_AGAIN_S = 0.25

LOADING = 1 << 7
ANSWERED = "interaction_answered"
UNANSWERED = "unknown_webhook"
#: Refusals for a token that is not valid, or no longer.
EXPIRED = frozenset({"interaction_expired", "bad_token", UNANSWERED})
#: Why an ephemeral message was not sent: the channel would show it to all its members.
EPHEMERAL_EXPIRED = "ephemeral_expired"


class DueCall(Enum):
    """The call that the chart asks for."""

    NONE = auto()
    DEFER = auto()
    LOOK = auto()
    FILL = auto()
    FOLLOW_UP = auto()
    HIDE = auto()


@define(eq=False)
class InteractionActions:
    """The known facts about one interaction, and the chart's actions and guards on them."""

    is_private: bool
    is_foreign: bool = False
    original: OutgoingMessage | None = None
    """The message the deferral was edited into, or was tried to be."""
    call: DueCall = DueCall.NONE
    reason: str = ""
    """Why the token is no longer used; empty while it is."""

    def private(self, _: object) -> bool:
        return self.is_private

    def exposed(self, flags: int) -> bool:
        return self.is_private and not flags & EPHEMERAL

    def foreign(self, _: object) -> bool:
        return self.is_foreign

    def same(self, post: OutgoingMessage) -> bool:
        return post is self.original

    def defer_first(self, _: object) -> None:
        self.call = DueCall.DEFER

    def look_first(self, _: object) -> None:
        self.call = DueCall.LOOK

    def fill(self, post: OutgoingMessage) -> None:
        self.original, self.call = post, DueCall.FILL

    def follow_up(self, _: object) -> None:
        self.call = DueCall.FOLLOW_UP

    def give_up(self, _: object) -> None:
        self.call = DueCall.NONE

    def hide(self, _: object) -> None:
        self.call = DueCall.HIDE

    def note_foreign(self, _: object) -> None:
        self.is_foreign = True

    def note_flags(self, flags: int) -> None:
        self.is_private = self.is_private or bool(flags & EPHEMERAL)

    def assume_private(self, _: object) -> None:
        self.is_private = True

    def note_reason(self, reason: str) -> None:
        self.reason = reason


CHART = load("interaction")
TABLE = compile(CHART, InteractionActions)


@define(eq=False)
class InteractionSender:
    """The sender for one interaction; *rest* is a `webhook_client`, which never retries."""

    _rest: hikari.api.RESTClient = field(repr=False)
    application_id: int
    interaction_id: int
    _token: str = field(repr=False)
    bot: BotSender
    """The sender for the channel after the token has expired."""
    _wants_private: bool = field(default=False, kw_only=True, alias="ephemeral")
    """Only the user of the interaction is to see the messages; see `is_private`."""
    clock: Callable[[], float] = field(default=time.monotonic, kw_only=True, repr=False)
    calls: CallRunner = field(factory=CallRunner, repr=False, kw_only=True)
    watch: Observer | None = field(default=None, kw_only=True, repr=False)
    """Observer of the chart's transitions."""
    # Messages may go to the channel, where Discord supports nonces.
    has_nonce: bool = field(default=True, init=False)
    _known: InteractionActions = field(init=False, repr=False)
    _machine: Machine = field(init=False)
    _clocks: RunningClocks = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._known = InteractionActions(self._wants_private)
        self._machine = Machine(TABLE, self._known, watch=self.watch)
        # Interactions arrive at once, and a local clock avoids the difference to Discord's.
        now = self.clock()
        lengths = {"token": TOKEN_S - MARGIN_S}
        self._clocks = RunningClocks(CHART, lengths, self._machine.state, now)
        self._clocks.heard("received", now)

    @property
    def state(self) -> str:
        """The current leaf state of the chart."""
        return self._machine.state

    @property
    def ephemeral(self) -> bool:
        """Whether only the user of the interaction sees the messages, as far as known."""
        return self._known.is_private

    @property
    def fell_back(self) -> str:
        """Why the token is no longer used; empty while it is."""
        return self._known.reason

    @property
    def place(self) -> int:
        """The interaction's id, or the channel's after the token has expired."""
        return self.bot.place if self.fell_back else self.interaction_id

    def route(self, kind: Kind) -> str:
        """Return the webhook limit, or the bot's own after the token has expired."""
        return self.bot.route(kind) if self.fell_back else "webhook"

    async def defer(self) -> SendOutcome:
        """Defer, which shows "thinking…"; call it at once, because Discord waits three seconds.

        An interaction that a framework has deferred or answered counts as accepted.
        """
        answer: SendOutcome = Unknown("connection")
        for attempt in range(DEFER_ATTEMPTS):
            if attempt:
                await anyio.sleep(DEFER_AGAIN_S)
            answer = await self.calls.make(
                self._rest.create_interaction_response(
                    self.interaction_id,
                    self._token,
                    hikari.ResponseType.DEFERRED_MESSAGE_CREATE,
                    flags=EPHEMERAL if self.ephemeral else hikari.UNDEFINED,
                )
            )
            if not isinstance(answer, Unknown | RetryLater):
                break
        self._send("deferred" if isinstance(answer, Accepted) else "deferral_lost")
        if isinstance(answer, Rejected) and answer.reason == ANSWERED:
            await self._look()
            return Accepted(None)
        if isinstance(answer, Rejected) and answer.reason in EXPIRED:
            await self._look()
            self._send("expired", answer.reason)
        return answer

    def was_deferred(self) -> None:
        """Record that a framework deferred; its flags are fetched from Discord when needed."""
        self._send("deferred_elsewhere")

    async def is_private(self) -> bool:
        """Return whether the reply and related messages are visible to its user only."""
        if self._machine.state == "unseen":
            await self._look()
        return self.ephemeral

    async def is_waited_for(self) -> bool:
        """Return whether the response is still deferred, so that Discord shows "thinking…"."""
        if self._machine.state in ("unseen", "thinking") and not self._over():
            await self._look()
        return self._machine.state in ("undeferred", "thinking") and not self._over()

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a message: the first by editing the deferred response, then follow-ups."""
        while (call := self._send("answer_due")) is not DueCall.NONE:
            await (self.defer() if call is DueCall.DEFER else self._look())
        if post.channel_id != self.bot.place:  # a thread for the reply; the token does not reach it
            return Rejected("ephemeral") if self.ephemeral else await self.bot.create(post)
        if self._over():
            return await self._in_channel(post)
        answer = await self._say(post)
        if isinstance(answer, Rejected) and answer.reason in EXPIRED:
            self._send("expired", answer.reason)
            # The permit was not for the channel; its rate limit leaves room for one such call.
            return await self._in_channel(post)
        return answer

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message, with the token or, after it has expired, as the bot."""
        webhook = (self.application_id, self._token)
        call = edit_by_token(self._rest, webhook, post, message_id)
        return await self._change(post.channel_id, call, lambda: self.bot.edit(post, message_id))

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Delete a sent message."""
        call = self._rest.delete_webhook_message(self.application_id, self._token, message_id)
        return treat_missing_as_deleted(
            await self._change(channel_id, call, lambda: self.bot.delete(channel_id, message_id))
        )

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the bot typing after the token has expired; until then Discord shows "thinking…"."""
        if self.fell_back and not self.ephemeral:
            return await self.bot.typing(channel_id)
        return RetryLater("thinking")

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread as the bot; refuse it for an ephemeral message, which cannot have one."""
        if await self.is_private():
            return Rejected("ephemeral")
        return await self.bot.start_thread(channel_id, message_id, name)

    async def _say(self, post: OutgoingMessage) -> SendOutcome:
        if self._send("message_due", post) is DueCall.FILL:
            answer = await self._fill(post)
            if isinstance(answer, Accepted):
                self._send("filled")
            elif isinstance(answer, Unknown):
                self._send("fill_lost")
            is_gone = isinstance(answer, Rejected) and answer.reason == "unknown_message"
            if not is_gone or self._send("original_gone") is not DueCall.FOLLOW_UP:
                return answer
        return await self._follow_up(post)

    async def _fill(self, post: OutgoingMessage) -> SendOutcome:
        asked = creating(post)
        asked.pop("flags", None)  # hikari's call has no parameter for them
        return await self.calls.make(
            flagged(
                edited_flags(post),
                lambda: self._rest.edit_interaction_response(
                    self.application_id, self._token, or_undefined(post.text), **asked
                ),
            )
        )

    async def _follow_up(self, post: OutgoingMessage) -> SendOutcome:
        asked = creating(post)
        if self.ephemeral:
            asked["flags"] = post.flags | EPHEMERAL
        call = self._rest.execute_webhook(
            self.application_id, self._token, or_undefined(post.text), **asked
        )
        return mark_unrepeatable(await self.calls.make(call))

    async def _in_channel(self, post: OutgoingMessage) -> SendOutcome:
        if self._machine.state == "expired_private":
            return Rejected(EPHEMERAL_EXPIRED)
        if self._machine.state == "expired_in_doubt" and self._known.same(post):
            return Rejected(self.fell_back)  # the channel may show it already
        return await self.bot.create(post)

    async def _change(
        self,
        channel_id: int,
        call: Coroutine[Any, Any, Any],
        as_bot: Callable[[], Coroutine[Any, Any, SendOutcome]],
    ) -> SendOutcome:
        """Make *call* while the token is valid, else *as_bot*; both are safe to repeat."""
        if channel_id == self.bot.place and not self._over():
            answer = await self.calls.make(call)
            if not (isinstance(answer, Rejected) and answer.reason in EXPIRED):
                return answer
            self._send("expired", answer.reason)
        else:
            call.close()
        return Rejected(EPHEMERAL_EXPIRED) if self.ephemeral else await as_bot()

    def _over(self) -> bool:
        """Return whether the token is no longer used; asks the clock."""
        name, deadline = self._clocks.first()
        if self.clock() >= deadline:
            self._send(CHART.clocks[name].event, "interaction_expired")
        return self._machine.ended

    def _send(self, event: str, payload: object = None) -> DueCall:
        """Process *event*; return the call that the chart asks for."""
        self._known.call = DueCall.NONE
        self._machine.send(event, payload)
        self._clocks.moved(self._machine.state, self.clock())
        return self._known.call

    async def _look(self) -> None:
        """Fetch the first response; only a deferral can be edited."""
        found = await self._first_answer()
        if isinstance(found, int):
            call = self._send("found_deferral" if found & LOADING else "found_answer", found)
        else:
            call = self._send("found_nothing" if found == UNANSWERED else "look_failed")
        if call is DueCall.HIDE:
            await self._unshow()

    async def _first_answer(self) -> int | str:
        """Return the flags of the first response, or the reason they could not be fetched."""
        seen: list[int] = []

        async def look() -> None:
            found = await self._rest.fetch_interaction_response(self.application_id, self._token)
            seen.append(int(found.flags))

        why = ""
        for attempt in range(LOOK_ATTEMPTS):
            if attempt:
                await anyio.sleep(LOOK_AGAIN_S)
            answer = await self.calls.make(look())
            if seen:
                return seen[0]
            why = answer.reason
            is_final = isinstance(answer, Rejected)
            if is_final and not (self._known.is_foreign and why == UNANSWERED):
                break
        return why

    async def _unshow(self) -> None:
        """Delete a public deferral: a message edited into it would be public, too."""
        call = self._rest.delete_interaction_response(self.application_id, self._token)
        if not isinstance(treat_missing_as_deleted(await self.calls.make(call)), Accepted):
            self._send("expired", "not_ephemeral")
