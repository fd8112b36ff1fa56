"""Messages beside a reply, and notices: the one path for error and timeout embeds.

By default a notice contains only minamo's own phrases.  A provider's error text is written for
developers: it can quote the request, name an account or hold a URL with a key.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

import anyio
from attrs import frozen

from minamo.core.chunks import CUT_SHORT, ErrorChunk, ErrorKind
from minamo.core.cleaning.clean import clean
from minamo.core.config import StreamConfig
from minamo.core.fitting.masked import laid_open
from minamo.core.messages import Embed, MessageSource, Receipt
from minamo.core.redact import shorten
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import BY_CODE, Sender, SendOptions, TextQueue
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.notices.localization import Wording
from minamo.shell.stops.registry import StopKind, StopRequest, StopSignal

_LOG = logging.getLogger("minamo.beside")

# The reason in a receipt, by the kind of the request that withdrew the message.
_REASONS: Mapping[StopKind, str] = {"user": "stop", "follow_up": "follow_up", "kill": "killed"}


async def send_beside(
    lanes: Lanes,
    sender: Sender,
    channel_id: int,
    texts: Sequence[str],
    *,
    options: SendOptions,
    stream_id: str,
    deadline_s: float,
    line: int | None = None,
    stop_signal: StopSignal | None = None,
) -> tuple[Receipt, ...]:
    """Send *texts*, one message each, after everything queued in the channel or *line*.

    Raises nothing except a cancellation from outside, and takes at most *deadline_s*: messages not
    sent by then are withdrawn, and one still in flight is reported as unknown.  A request of
    *stop_signal*, also an earlier one, withdraws them at once.
    """
    return await send_source(
        lanes,
        sender,
        channel_id,
        TextQueue(list(texts)),
        options=options,
        stream_id=stream_id,
        deadline_s=deadline_s,
        line=line,
        stop_signal=stop_signal,
    )


async def send_source(
    lanes: Lanes,
    sender: Sender,
    channel_id: int,
    source: MessageSource,
    *,
    options: SendOptions,
    stream_id: str,
    deadline_s: float,
    line: int | None = None,
    stop_signal: StopSignal | None = None,
) -> tuple[Receipt, ...]:
    """Send the messages of *source* as `send_beside` does."""
    size = source.waiting
    try:
        async with lanes.open(
            channel_id, sender, source, stream_id=stream_id, line=line, options=options
        ) as queue:
            queue.deliver()
            signal = stop_signal or StopSignal()
            with (
                anyio.move_on_after(deadline_s) as scope,
                signal.listen(partial(_withdraw, queue, scope)),
            ):
                await queue.finish()
            queue.withdraw("deadline")
            return (*queue.receipts, *_still_out(queue))
    except Exception as error:  # noqa: BLE001 - it may be lost, but must not fail the reply
        _LOG.warning("a message beside a reply failed", extra={"kind": type(error).__name__})
        return (not_sent(channel_id, "unexpected", size),)


def _withdraw(queue: StreamQueue, scope: anyio.CancelScope, request: StopRequest) -> None:
    """Withdraw what has not been sent; only a kill does not wait for a call in flight."""
    queue.withdraw(_REASONS[request.kind])
    if request.kind == "kill":
        scope.cancel()


def clean_beside(text: str, config: StreamConfig) -> str:
    """Return text of a model or tool, cleaned by the rules that apply to the reply."""
    return clean(
        text,
        off=config.clean_off,
        mentions=config.mentions,
        first=False,
        uncensor_unicode_space=config.uncensor_unicode_space,
    ).text


def progress_line(text: str, config: StreamConfig) -> str:
    """Return the message that shows the progress of a tool."""
    line = " ".join(clean_beside(text, config).split())
    return f"-# {line if 'masked_link' in config.clean_off else laid_open(line)}"


def _still_out(queue: StreamQueue) -> tuple[Receipt, ...]:
    if not queue.fitted:
        return ()
    first = queue.fitted[0]
    return (
        Receipt(
            outcome="unknown",
            channel_id=queue.channel_id,
            index=first.index,
            characters=len(first.post.text),
            reason="deadline",
            nonce=first.post.nonce,
            attempts=1,
            settled_at=anyio.current_time(),
        ),
    )


def not_sent(channel_id: int, reason: str, characters: int = 0) -> Receipt:
    """Return the receipt of a message that was never attempted."""
    return Receipt(
        outcome="not_sent",
        channel_id=channel_id,
        index=0,
        characters=characters,
        reason=reason,
        settled_at=anyio.current_time(),
    )


# Discord's own red and yellow.
RED, YELLOW = 0xED4245, 0xFEE75C

# A later notice is about a question that users have forgotten.
NOTICE_S = 15.0

# Above these, the next larger unit is used: 2 min instead of 120 s, 2 h instead of 120 min.
_SECONDS_MAX, _MINUTES_MAX = 119, 119
# "Again in 40 hours" is not useful; a longer wait is shown as "later".
_WAIT_MAX_S = 24 * 3_600.0

# Loss reasons for which a further message in the same channel is useful, with its phrase.
_LOST: Mapping[str, str] = {
    "automod": "lost_blocked",
    "words_not_allowed": "lost_blocked",
    "harmful_link": "lost_blocked",
    "explicit_content": "lost_blocked",
    "bad_form": "lost_refused",
    "bad_request": "lost_refused",
    "empty_message": "lost_refused",
    "too_large": "lost_refused",
    "edit_limit": "lost_refused",
    # These concern the webhook of a persona; the bot itself can still send.
    "unknown_webhook": "lost_refused",
    "bad_token": "lost_refused",
    "connection": "lost_unknown",
    "unreachable": "lost_unknown",
    "unexpected": "lost_unknown",
    "rate_limited": "lost_unknown",
}
# All other refusals concern the channel, or the bot in it: a notice would be refused as well.
_PLACE = frozenset(BY_CODE.values()) - _LOST.keys()
_THEIR_FAULT = re.compile(r"http_5\d\d\Z")

# Length of a provider quotation; enough to identify the problem.
_QUOTE_MAX = 200
# Patterns of keys, addresses and accounts; a text that matches is not quoted.
_SECRET = re.compile(
    r"://|www\.|@|\b(?:bearer|token|secret|password|api[ _-]?key)\b|\bsk-|[A-Za-z0-9_+/=.-]{20,}",
    re.IGNORECASE,
)
_FORMATTING = re.compile(r"([\\*_~|`>#\[\]()<])")


@frozen(kw_only=True)
class NoticeSettings:
    """Settings for the notices shown to users."""

    suppress_user_errors: bool = False
    """Show no notices."""
    tell_empty: bool = False
    """Also show a notice for an empty reply."""
    tell_length: bool = True
    """Also show a notice under a reply that ended at its length limit."""
    quote_provider: bool = False
    """Also quote the provider's error text, unless it looks as if it held a secret."""


_DEFAULTS = NoticeSettings()


def notice_for(
    result: StreamResult, wording: Wording, settings: NoticeSettings = _DEFAULTS
) -> Embed | None:
    """Return the notice for *result*, or None."""
    if settings.suppress_user_errors:
        return None
    match result.status:
        case "error" if result.stop_reason == "delivery_lost":
            return _about_delivery(result, wording)
        case "error":
            return _about_error(result, wording, quote=settings.quote_provider)
        case "timeout":
            reason = result.stop_reason or "inactivity"
            return _embed(wording, "timeout_title", [wording.say(f"timeout_{reason}")], result)
        case "completed" | "empty_response" if _ended_at_length(result, settings):
            key = "length_cut" if result.accumulated_text else "length_spent"
            words = wording.say(key)
            return Embed(title=wording.say("length_title"), description=words, colour=YELLOW)
        case "empty_response" if settings.tell_empty:
            words = wording.say("empty_response")
            return Embed(title=wording.say("empty_title"), description=words, colour=YELLOW)
        case _:
            return None


def _ended_at_length(result: StreamResult, settings: NoticeSettings) -> bool:
    return settings.tell_length and result.finish_reason in CUT_SHORT and not result.stop_reason


def _about_error(result: StreamResult, wording: Wording, *, quote: bool) -> Embed:
    error = result.data if isinstance(result.data, ErrorChunk) else ErrorChunk("api_error")
    # A third-party adapter may use an error kind of its own.
    kind = error.kind if error.kind in get_args(ErrorKind) else "api_error"
    lines = [wording.say(f"error_{kind}")]
    if quote and (words := quotable(error.message)):
        lines.append(f"> {words}")
    if error.retryable or error.retry_after is not None:
        lines.append(_again(error.retry_after, wording))
    title = "lost_title" if result.accumulated_text else "error_title"
    return _embed(wording, title, lines, result)


def _again(wait_s: float | None, wording: Wording) -> str:
    if wait_s is None or not 0 < wait_s <= _WAIT_MAX_S:
        return wording.say("try_again")
    seconds = math.ceil(wait_s)
    if seconds <= _SECONDS_MAX:
        return wording.say("wait_seconds", seconds=seconds)
    minutes = math.ceil(seconds / 60)
    if minutes <= _MINUTES_MAX:
        return wording.say("wait_minutes", minutes=minutes)
    return wording.say("wait_hours", hours=math.ceil(minutes / 60))


def _about_delivery(result: StreamResult, wording: Wording) -> Embed | None:
    lost = [receipt.reason for receipt in result.receipts if receipt.lost]
    if not lost or not _PLACE.isdisjoint(lost):
        return None
    # The first loss is the cause; later messages were given up because of it.
    key = "lost_unknown" if _THEIR_FAULT.match(lost[0]) else _LOST.get(lost[0])
    if key is None:
        return None
    return Embed(title=wording.say("lost_title"), description=wording.say(key), colour=RED)


def _embed(wording: Wording, title: str, lines: list[str], result: StreamResult) -> Embed:
    if result.accumulated_text:
        lines.append(wording.say("incomplete"))
    colour = YELLOW if result.status == "timeout" else RED
    return Embed(title=wording.say(title), description="\n".join(lines), colour=colour)


def quotable(words: str) -> str:
    """Return provider text as one escaped line; empty if it may hold a secret."""
    line = laid_open(" ".join(clean(words, first=False).text.split()))
    if not line or _SECRET.search(line):
        return ""
    return _FORMATTING.sub(r"\\\1", shorten(line, _QUOTE_MAX))


async def send_notice(
    lanes: Lanes,
    sender: Sender,
    channel_id: int,
    embed: Embed,
    *,
    stream_id: str,
    reply_to: int | None = None,
    deadline_s: float = NOTICE_S,
    stop_signal: StopSignal | None = None,
) -> Receipt:
    """Send *embed* to the channel, after everything queued there, without pinging any user.

    Never raises, and takes at most *deadline_s*.  *stream_id* and *stop_signal* are those of the
    failed reply: a user who asked for silence gets no notice.
    """
    receipts = await send_beside(
        lanes,
        sender,
        channel_id,
        [""],  # no text beside the embed
        options=SendOptions(embed=embed, reply_to=reply_to),
        stream_id=f"{stream_id}/notice",
        deadline_s=deadline_s,
        stop_signal=stop_signal,
    )
    return receipts[-1]
