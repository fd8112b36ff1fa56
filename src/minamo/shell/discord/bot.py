"""Calls to hikari: their outcomes and arguments, shared by all senders, and the bot's own sender.

Every call runs in an asyncio task of its own.  Cancelling a call that waits inside hikari's
limiter hangs its channel, or the whole process; and hikari, when it closes, cancels such calls
itself, which would look like a cancellation of the caller.  The task in between stops both.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import hikari
from attrs import define, field

from minamo.core.messages import SUPPRESS_EMBEDS, Button, Extras, Kind, OutgoingMessage
from minamo.shell.delivery.interfaces import (
    BY_CODE,
    CLOSED,
    UNKNOWN_MESSAGE,
    Accepted,
    Burst,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    Unknown,
    reason_for,
)

_LOG = logging.getLogger("minamo.discord")

# The content network blocks requests without giving a duration.
_SHUT_OUT_S = 10.0
# A connection that failed may succeed a moment later.
_UNREACHABLE_S = 2.0

_WITH_ID = (hikari.PartialMessage, hikari.PartialChannel)

_TOO_MANY = 429
_THEIR_FAULT = 500


@define(eq=False)
class CallRunner:
    """The calls in flight, each in a task that is never cancelled."""

    _tasks: set[asyncio.Task[SendOutcome]] = field(factory=set, repr=False)

    async def make(self, call: Coroutine[Any, Any, Any], *, creates: bool = False) -> SendOutcome:
        """Make *call* and return its outcome; cancelling this does not cancel the call."""
        task = asyncio.get_running_loop().create_task(answer_of(call, creates=creates))
        # asyncio itself holds only weak references to tasks.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def __len__(self) -> int:
        return len(self._tasks)


async def answer_of(call: Coroutine[Any, Any, Any], *, creates: bool = False) -> SendOutcome:
    """Return the outcome of a call to hikari; *creates* means that it has a nonce."""
    try:
        made = await call
    except asyncio.CancelledError:
        return Unknown("closed")  # hikari's client was closed during the call
    except hikari.RateLimitTooLongError as error:
        return RetryLater("rate_limited", error.retry_after)
    except hikari.ComponentStateConflictError:
        return CLOSED
    except hikari.HTTPResponseError as error:
        return _refusal(error, creates=creates)
    except hikari.HTTPError as error:
        return _unreachable(error, creates=creates)
    except Exception as error:  # noqa: BLE001 - in any case the message may have arrived
        _LOG.warning("a call to Discord ended unexpectedly", extra={"kind": type(error).__name__})
        return Unknown("unexpected")
    return Accepted(int(made.id) if isinstance(made, _WITH_ID) else None)


def _refusal(error: hikari.HTTPResponseError, *, creates: bool) -> SendOutcome:
    status = int(error.status)
    code = int(error.code) if isinstance(error, hikari.ClientHTTPResponseError) else 0
    if creates and code == UNKNOWN_MESSAGE:
        # Only a nonce causes this: `reply_must_exist` allows a reply to a deleted message.
        return Deleted()
    if status == _TOO_MANY:
        return RetryLater("rate_limited", _SHUT_OUT_S)
    if status >= _THEIR_FAULT:
        return Unknown(f"http_{status}")
    return Rejected(reason_for(status, code))


def _unreachable(error: hikari.HTTPError, *, creates: bool) -> SendOutcome:
    # aiohttp's exception has this attribute only if no connection was made: nothing was sent.
    # The bot's client repeats by itself, and an earlier try may have been sent; but those calls
    # have a nonce and can be repeated to learn the outcome.
    if not creates and getattr(error.__cause__, "os_error", None) is not None:
        return RetryLater("unreachable", _UNREACHABLE_S)
    return Unknown("connection")


def treat_missing_as_deleted(answer: SendOutcome) -> SendOutcome:
    """Return the outcome of a deletion, with a message that no longer exists as deleted."""
    was_gone = isinstance(answer, Rejected) and answer.reason == BY_CODE[UNKNOWN_MESSAGE]
    return Accepted(None) if was_gone else answer


def mark_unrepeatable(answer: SendOutcome) -> SendOutcome:
    """Return *answer*, final if unknown: a create without a nonce could be shown twice."""
    return Unknown(answer.reason, final=True) if isinstance(answer, Unknown) else answer


async def respond_ephemeral(
    interaction: hikari.CommandInteraction | hikari.ComponentInteraction | hikari.ModalInteraction,
    text: str,
) -> None:
    """Send the first response of an interaction, visible only to its user."""
    await interaction.create_initial_response(
        hikari.ResponseType.MESSAGE_CREATE,
        text,
        flags=hikari.MessageFlag.EPHEMERAL | hikari.MessageFlag.SUPPRESS_EMBEDS,
        mentions_everyone=False,
        user_mentions=False,
        role_mentions=False,
    )


def or_undefined(value: Any) -> Any:
    """Return *value*, or `hikari.UNDEFINED` if it is None or empty."""
    return hikari.UNDEFINED if value is None or value == "" else value


def creating(post: OutgoingMessage) -> dict[str, Any]:
    """Return the arguments of a create, except the text and those only some routes take."""
    asked = allowed(post)
    if post.flags:
        asked["flags"] = post.flags
    if post.embed is not None:
        asked["embed"] = _embed(post)
    if post.button is not None:
        asked["component"] = _row(post.button)
    if post.file is not None:
        asked["attachment"] = hikari.Bytes(post.file.data, post.file.name)
    return asked if post.extras is None else asked | _extras(post.extras)


def editing(post: OutgoingMessage) -> dict[str, Any]:
    """Return the arguments of an edit, except the text and the flags."""
    asked = allowed(post)
    if post.bare:
        asked["components"] = []
    return asked if post.extras is None else asked | _extras(post.extras)


def _extras(extras: Extras) -> dict[str, Any]:
    """Return the arguments for the caller's own parts; an edit keeps those that are not given."""
    given = {
        "components": extras.components,
        "embeds": extras.embeds,
        "attachments": extras.attachments,
    }
    return {name: list(parts) for name, parts in given.items() if parts}


def edited_flags(post: OutgoingMessage) -> int | None:
    """Return the flags of an edit, or None to keep them: Discord accepts only `SUPPRESS_EMBEDS`."""
    if post.extras is not None and post.extras.embeds:
        return post.flags & SUPPRESS_EMBEDS  # 0 shows embeds that were suppressed so far
    return post.flags & SUPPRESS_EMBEDS or None


def allowed(post: OutgoingMessage) -> dict[str, Any]:
    """Return the allowed mentions.  An edit without them would notify every mention in the text."""
    return {
        "mentions_everyone": post.ping.everyone,
        "user_mentions": post.ping.users or False,
        "role_mentions": post.ping.roles or False,
    }


def _embed(post: OutgoingMessage) -> hikari.Embed:
    assert post.embed is not None
    made = post.embed
    return hikari.Embed(
        title=made.title or None, description=made.description or None, colour=made.colour
    )


def _row(button: Button) -> hikari.api.ComponentBuilder:
    row = hikari.impl.MessageActionRowBuilder()
    row.add_interactive_button(hikari.ButtonStyle.DANGER, button.custom_id, label=button.label)
    return row


# Discord's code for a message that has a thread; the repeat of a lost call receives it.
_HAS_A_THREAD = 160004
# Discord refuses a longer name.
_THREAD_NAME_MAX = 100


@define(eq=False)
class BotSender:
    """The sender for the bot itself in one channel; only its messages have nonces."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The channel's id."""
    has_nonce: bool = field(default=True, init=False)
    calls: CallRunner = field(factory=CallRunner, repr=False, kw_only=True)

    def route(self, kind: Kind) -> str:
        """Return the rate limit: each kind of call has its own."""
        return kind

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a new message."""
        return await self.calls.make(self._create(post), creates=True)

    async def create_all(self, after: Burst) -> None:
        """Send messages until *after*, given the outcome of the last one, returns None."""

        async def run() -> None:
            answer: SendOutcome | None = None
            while (post := after(answer)) is not None:
                answer = await answer_of(self._create(post), creates=True)

        await self.calls.make(run())

    def _create(self, post: OutgoingMessage) -> Coroutine[Any, Any, hikari.Message]:
        return self._rest.create_message(
            post.channel_id,
            post.text or hikari.UNDEFINED,
            nonce=post.nonce or hikari.UNDEFINED,
            reply=post.reply_to or hikari.UNDEFINED,
            # A user may delete the question; the answer is still sent.
            reply_must_exist=False if post.reply_to is not None else hikari.UNDEFINED,
            mentions_reply=post.ping.reply,
            **creating(post),
        )

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message."""
        call = self._rest.edit_message(
            post.channel_id,
            message_id,
            or_undefined(post.text),
            mentions_reply=post.ping.reply,
            flags=or_undefined(edited_flags(post)),
            **editing(post),
        )
        return await self.calls.make(call)

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Delete a message."""
        return treat_missing_as_deleted(
            await self.calls.make(self._rest.delete_message(channel_id, message_id))
        )

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the typing indicator."""
        return await self.calls.make(_once(self._rest, channel_id))

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread from a message; `Accepted.message_id` is the thread's id."""
        call = _thread(self._rest, channel_id, message_id, name[:_THREAD_NAME_MAX])
        return await self.calls.make(call)


async def _once(rest: hikari.api.RESTClient, channel_id: int) -> None:
    # Awaiting it makes one call; entering it as a context would start hikari's own loop.
    await rest.trigger_typing(channel_id)


async def _thread(
    rest: hikari.api.RESTClient, channel_id: int, message_id: int, name: str
) -> hikari.PartialChannel | hikari.PartialMessage:
    try:
        return await rest.create_message_thread(channel_id, message_id, name)
    except hikari.BadRequestError as error:
        if error.code != _HAS_A_THREAD:
            raise
        # A thread has the id of its message.
        return await rest.fetch_channel(message_id)
