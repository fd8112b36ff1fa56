"""The sender for slash commands and buttons: the deferred response first, then follow-ups.

The first message is an *edit* of the deferred response, so repeating it cannot show it twice.
Follow-ups have no nonce and are sent at most once.  The token lasts fifteen minutes; a longer reply
continues in the channel as the bot, whose messages have nonces, but only with messages that Discord
certainly did not accept, and never with ephemeral ones.

Discord decides whether a response is ephemeral: the bot's author, or a framework with settings of
its own, may have deferred it so.  If Discord cannot be asked, the response counts as ephemeral.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import hikari
from attrs import define, field

from minamo.core.messages import EPHEMERAL, Kind, OutgoingMessage
from minamo.shell.delivery.interfaces import Accepted, Rejected, RetryLater, SendOutcome, Unknown
from minamo.shell.discord.bot import (
    BotSender,
    CallRunner,
    creating,
    edited_flags,
    editing,
    mark_unrepeatable,
    or_undefined,
    treat_missing_as_deleted,
)
from minamo.shell.discord.webhook import flagged

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


@define(eq=False)
class InteractionSender:
    """The sender for one interaction; *rest* is a `webhook_client`, which never retries."""

    _rest: hikari.api.RESTClient = field(repr=False)
    application_id: int
    interaction_id: int
    _token: str = field(repr=False)
    bot: BotSender
    """The sender for the channel after the token has expired."""
    ephemeral: bool = field(default=False, kw_only=True)
    """Only the user of the interaction sees the messages; see `is_private`."""
    clock: Callable[[], float] = field(default=time.monotonic, kw_only=True, repr=False)
    calls: CallRunner = field(factory=CallRunner, repr=False, kw_only=True)
    # Messages may go to the channel, where Discord supports nonces.
    has_nonce: bool = field(default=True, init=False)
    fell_back: str = field(default="", init=False)
    """Why the token is no longer used; empty while it is."""
    _until: float = field(init=False, repr=False)
    _deferred: bool = field(default=False, init=False)
    _is_foreign: bool = field(default=False, init=False)
    """Whether a framework made the deferral, which may still be in flight."""
    _known: bool = field(default=False, init=False)
    """Whether the first response is known: made by this sender, or fetched."""
    _original: OutgoingMessage | None = field(default=None, init=False, repr=False)
    """The message the deferred response was edited into, or was tried to be."""
    _spent: bool = field(default=False, init=False)
    """The first response is taken, here or by a framework, or deleted: only follow-ups are left."""
    _unsure: bool = field(default=False, init=False)
    """Whether an answer to a call for the first message was lost."""

    @_until.default
    def _make_until(self) -> float:
        # Interactions arrive at once, and a local clock avoids the difference to Discord's.
        return self.clock() + TOKEN_S - MARGIN_S

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
        self._deferred = True
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
        if isinstance(answer, Rejected) and answer.reason == ANSWERED:
            await self._look()
            return Accepted(None)
        if isinstance(answer, Rejected) and answer.reason in EXPIRED:
            self.fell_back = answer.reason
            await self._look()
        self._known = self._known or isinstance(answer, Accepted)
        return answer

    def was_deferred(self) -> None:
        """Record that a framework deferred; its flags are fetched from Discord when needed."""
        self._deferred = self._is_foreign = True

    async def is_private(self) -> bool:
        """Return whether the reply and related messages are visible to its user only."""
        if not self._known:
            await self._look()
        return self.ephemeral

    async def is_waited_for(self) -> bool:
        """Return whether the response is still deferred, so that Discord shows "thinking…"."""
        if self._original is not None or self._spent or self._over():
            return False
        await self._look()
        return not self._spent

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a message: the first by editing the deferred response, then follow-ups."""
        if not self._deferred:
            await self.defer()
        private = await self.is_private()
        if post.channel_id != self.bot.place:  # a thread for the reply; the token does not reach it
            return Rejected("ephemeral") if private else await self.bot.create(post)
        doubtful = self._unsure and post is self._original
        if self._over():
            return await self._in_channel(post, doubtful=doubtful)
        answer = await self._say(post)
        if isinstance(answer, Rejected) and answer.reason in EXPIRED:
            self.fell_back = answer.reason
            # The permit was not for the channel; its rate limit leaves room for one such call.
            return await self._in_channel(post, doubtful=doubtful)
        return answer

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message, with the token or, after it has expired, as the bot."""
        call = flagged(
            edited_flags(post),
            lambda: self._rest.edit_webhook_message(
                self.application_id,
                self._token,
                message_id,
                or_undefined(post.text),
                **editing(post),
            ),
        )
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
        if not self._spent and (self._original is None or self._original is post):
            self._original = post
            answer = await self._fill(post)
            if not (isinstance(answer, Rejected) and answer.reason == "unknown_message"):
                return answer
            self._spent = True  # a user deleted it; the reply is still sent
            if self._unsure:
                return answer
        return await self._follow_up(post)

    async def _fill(self, post: OutgoingMessage) -> SendOutcome:
        asked = creating(post)
        asked.pop("flags", None)  # hikari's call has no parameter for them
        answer = await self.calls.make(
            flagged(
                edited_flags(post),
                lambda: self._rest.edit_interaction_response(
                    self.application_id, self._token, or_undefined(post.text), **asked
                ),
            )
        )
        self._spent = isinstance(answer, Accepted)
        self._unsure = self._unsure or isinstance(answer, Unknown)
        return answer

    async def _follow_up(self, post: OutgoingMessage) -> SendOutcome:
        asked = creating(post)
        if self.ephemeral:
            asked["flags"] = post.flags | EPHEMERAL
        call = self._rest.execute_webhook(
            self.application_id, self._token, or_undefined(post.text), **asked
        )
        return mark_unrepeatable(await self.calls.make(call))

    async def _in_channel(self, post: OutgoingMessage, *, doubtful: bool) -> SendOutcome:
        if self.ephemeral:
            return Rejected(EPHEMERAL_EXPIRED)
        if doubtful:  # the channel may show it already
            return Rejected(self.fell_back)
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
            self.fell_back = answer.reason
        else:
            call.close()
        return Rejected(EPHEMERAL_EXPIRED) if self.ephemeral else await as_bot()

    def _over(self) -> bool:
        if not self.fell_back and self.clock() >= self._until:
            self.fell_back = "interaction_expired"
        return bool(self.fell_back)

    async def _look(self) -> None:
        """Fetch the first response and record its flags; only a deferral can be edited."""
        found = await self._first_answer()
        was_known, self._known = self._known, True
        if isinstance(found, int):
            self._spent = not found & LOADING
            if found & LOADING and self.ephemeral and not found & EPHEMERAL:
                await self._unshow()
            self.ephemeral = self.ephemeral or bool(found & EPHEMERAL)
        elif found != UNANSWERED or self._is_foreign:
            # The first response is unknown.  A follow-up is correct in both cases: after a deferral
            # Discord makes it the response, ephemeral if the deferral is, and otherwise its own
            # flag decides.
            if self.ephemeral and not was_known:
                await self._unshow()
            self._spent = True
            self.ephemeral = self.ephemeral or not was_known

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
            if is_final and not (self._is_foreign and why == UNANSWERED):
                break
        return why

    async def _unshow(self) -> None:
        """Delete a public deferral: a message edited into it would be public, too."""
        call = self._rest.delete_interaction_response(self.application_id, self._token)
        self._spent = True
        if not isinstance(treat_missing_as_deleted(await self.calls.make(call)), Accepted):
            self.fell_back = "not_ephemeral"
