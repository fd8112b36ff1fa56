"""Calls to hikari, and the translation of their results and exceptions into outcomes.

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

from minamo.shell.delivery.error_codes import BY_CODE, UNKNOWN_MESSAGE, reason_for
from minamo.shell.delivery.interfaces import (
    CLOSED,
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    Unknown,
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

    _tasks: set[asyncio.Task[None]] = field(factory=set, repr=False)

    async def make(self, call: Coroutine[Any, Any, Any], *, creates: bool = False) -> SendOutcome:
        """Make *call* and return its outcome; cancelling this does not cancel the call."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[SendOutcome] = loop.create_future()
        task = loop.create_task(_tell(call, told, creates))
        # asyncio itself holds only weak references to tasks.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await told

    def __len__(self) -> int:
        return len(self._tasks)


async def _tell(
    call: Coroutine[Any, Any, Any], told: asyncio.Future[SendOutcome], creates: bool
) -> None:
    answer = await answer_of(call, creates=creates)
    if not told.done():  # the caller was cancelled
        told.set_result(answer)


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
    status, code = int(error.status), int(getattr(error, "code", 0))
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
    one: hikari.CommandInteraction | hikari.ComponentInteraction | hikari.ModalInteraction,
    text: str,
) -> None:
    """Send the first response of an interaction, visible only to its user."""
    await one.create_initial_response(
        hikari.ResponseType.MESSAGE_CREATE,
        text,
        flags=hikari.MessageFlag.EPHEMERAL | hikari.MessageFlag.SUPPRESS_EMBEDS,
        mentions_everyone=False,
        user_mentions=False,
        role_mentions=False,
    )
