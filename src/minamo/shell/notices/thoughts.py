"""The thoughts of a reply as messages: embeds for a log, spoilers, or plain text in a thread.

The number of messages is bounded.  They are generated lazily, with a checkpoint after each,
because a thought can be long and must not block the event loop.  A failure here never affects
the reply.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar, get_args

import anyio
from anyio.lowlevel import checkpoint
from attrs import Attribute, field, frozen

from minamo.core.cleaning.characters import inner_positions
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import NOTHING, fit_front
from minamo.core.fitting.masked import laid_open
from minamo.core.lexing.intake import as_read
from minamo.core.limits import MESSAGE_LENGTH, UTF16_MAX
from minamo.core.messages import Embed, Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Sender, SendOptions
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import clean_beside, not_sent, send_beside

# Neutral: neither success nor error.
GREY = 0x99AAB5
# Discord's limit for the description of an embed.  Each message has one embed, so the limits over
# all embeds of a message (10, and 6000 characters) cannot be exceeded.
DESCRIPTION_MAX = 4_096
# Users do not read more; a thought can have a million characters.
MESSAGES_MAX = 10
# Room for the line with the number of omitted characters.
_NOTE_MAX = 100

_BAR, _BREAK = "||", "\u200b"
# Both spoiler bars, and a zero-width space inside each.
_AROUND = 2 * (len(_BAR) + len(_BREAK))
_UNITS_MAX = UTF16_MAX - _AROUND - _NOTE_MAX
# A character has at most two UTF-16 units, so this many always fit.
_WIDE = _UNITS_MAX // 2
_BARS = re.compile(r"\|(?=\|)")

_FENCE = re.compile(r"^ {0,3}```+([^\s`]{0,32})[^`\n]*$", re.MULTILINE)
_CLOSE = "\n```"
# No grapheme cluster in practical use has more code points.
_GRAPHEME_MAX = 32


def log_embeds(text: str, wording: Wording, *, masked_links: bool = False) -> Iterator[Embed]:
    """Yield the embeds that contain *text*, in order, one per message.

    Masked links that cleaning left are laid open, unless *masked_links*; so too below.
    """
    title = wording.say("thoughts_title")
    for part in _noted(_cut(text, DESCRIPTION_MAX - _NOTE_MAX), len(text), wording):
        if part:
            shown = part if masked_links else laid_open(part)
            yield Embed(title=title, description=shown, colour=GREY)
            title = ""


def spoilers(text: str, wording: Wording, *, masked_links: bool = False) -> Iterator[str]:
    """Yield the messages that contain *text* as spoilers."""
    room = MESSAGE_LENGTH - _AROUND - _NOTE_MAX
    kept = text[: MESSAGES_MAX * room]
    # Inserted breaks between bars do not count as text.
    breaks = [bar.end() + number for number, bar in enumerate(_BARS.finditer(kept))]
    fitted = _fitted(_BARS.sub(f"|{_BREAK}", kept), room, narrow=_WIDE, masked_links=masked_links)
    made = ((parts, end - bisect_left(breaks, end)) for parts, end in fitted)
    for part in _noted(made, len(text), wording):
        yield _hidden(part) if part else ""


def plainly(text: str, wording: Wording, *, masked_links: bool = False) -> Iterator[str]:
    """Return the messages that contain *text* without spoilers."""
    room = MESSAGE_LENGTH - _NOTE_MAX
    fitted = _fitted(text[: MESSAGES_MAX * room], room, masked_links=masked_links)
    return _noted(fitted, len(text), wording)


def _hidden(part: str) -> str:
    # A bar at the edge would join our bars, and a trailing backslash would escape ours.
    before = _BREAK if part.startswith("|") else ""
    after = _BREAK if part.endswith(("|", "\\")) else ""
    return f"{_BAR}{before}{part}{after}{_BAR}"


def _noted(made: Iterable[tuple[list[str], int]], size: int, wording: Wording) -> Iterator[str]:
    """Yield the parts; the last one notes how many of the *size* characters were omitted.

    An empty part comes after each portion, so that the caller can give the event loop a turn.
    """
    last, done = "", 0
    for parts, end in made:
        done = end
        yield ""
        for part in parts:
            if last:
                yield last
            last = part
    if last and done < size:
        last += f"\n{wording.say('thoughts_left_out', characters=size - done)}"
    if last:
        yield last


def _fitted(
    text: str, room: int, *, narrow: int = 0, masked_links: bool
) -> Iterator[tuple[list[str], int]]:
    """Yield the messages of one portion of *text* at a time, with the end offset of the portion.

    At most `MESSAGES_MAX` in all.  A portion with too many UTF-16 units is fitted again with
    *narrow* characters per message, if given.
    """
    at, count, carry, limit = 0, 0, NOTHING, room
    while at < len(text) and count < MESSAGES_MAX:
        if narrow and _units(text[at : at + room]) > _UNITS_MAX:
            limit = narrow  # most likely needed
        fitted, end = fit_front(
            text[at:],
            room=MESSAGES_MAX - count,
            limit=limit,
            carry=carry,
            mid_line=at > 0 and text[at - 1] != "\n",
            masked_links=masked_links,
        )
        parts = [message.text for message in fitted.messages]
        if limit == room and narrow and any(_units(part) > _UNITS_MAX for part in parts):
            limit = narrow
            yield [], at  # a turn for others: the portion is fitted twice
            continue
        at, carry, limit = at + end, fitted.carry, room
        count += len(parts)
        yield parts, at


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, room: int) -> Iterator[tuple[list[str], int]]:
    """Yield parts of up to *room* characters, closing and reopening code blocks at each cut."""
    at, count, language = 0, 0, None
    while at < len(text) and count < MESSAGES_MAX:
        opening = "" if language is None else f"```{language}\n"
        end = _end(text, at, at + room - len(opening) - len(_CLOSE))
        part = opening + text[at:end]
        language = _open_fence(part)
        at = end
        if part.strip():
            count += 1
            yield [part if language is None else part.rstrip("\n") + _CLOSE], at
    yield [], at


def _end(text: str, start: int, most: int) -> int:
    """Return the best cut at or before *most*: after a paragraph, line, word or grapheme."""
    if most >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, (start + most) // 2, most - len(mark))
        if found >= 0:
            return found + len(mark)
    low = most - _GRAPHEME_MAX
    inner = set(inner_positions(text[low : most + _GRAPHEME_MAX]))
    while most - low in inner and most > start + 1:
        most -= 1
    return most


def _open_fence(part: str) -> str | None:
    """Return the language of the code block that *part* leaves open, or None."""
    language: str | None = None
    for found in _FENCE.finditer(part):
        if language is None:
            language = found[1]
        elif not found[1]:
            language = None
    return language


_LOG = logging.getLogger("minamo.thoughts")

T = TypeVar("T")
Place = Literal["nowhere", "log", "spoiler", "thread"]

# For ten messages at Discord's rate limit, with some retries.
TELL_S = 60.0


def _known(_: object, __: object, value: object) -> None:
    if value not in get_args(Place):
        may = ", ".join(get_args(Place))
        raise BadSetting(f"thoughts go to one of {may}; not to {value!r}")


def _id(display: ThoughtDisplay, _: Attribute[Any], value: object) -> None:
    if display.place != "log":
        if value is not None:
            raise BadSetting(
                f"only thoughts in a log have a channel_id, not those in {display.place}"
            )
    elif not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise BadSetting(f"thoughts in a log need channel_id, a channel's id; it is {value!r}")


@frozen
class ThoughtDisplay:
    """The place for thoughts: nowhere by default, or ``ThoughtDisplay("log", channel_id=…)``."""

    place: Place = field(default="nowhere", validator=_known)
    channel_id: int | None = field(default=None, kw_only=True, validator=_id)


class Threads(Protocol):
    """An opener of threads below messages.  Its calls raise nothing, and are never cancelled."""

    async def start_thread(self, message_id: int, name: str) -> int | str:
        """Return the id of the new thread, or the reason for failure as a short code."""


async def tell_thoughts(
    place: ThoughtDisplay,
    result: StreamResult,
    *,
    lanes: Lanes,
    sender_for: Callable[[int], Sender],
    channel_id: int,
    stream_id: str,
    wording: Wording,
    config: StreamConfig | None = None,
    threads: Threads | None = None,
    deadline_s: float = TELL_S,
) -> tuple[Receipt, ...]:
    """Send the thoughts of *result*; call this when its reply is settled.

    *sender_for* returns the sender for a channel or thread.  Raises nothing except a cancellation
    from outside.  Failed and partial deliveries are in the receipts.
    """
    if place.place == "nowhere":
        return ()
    thoughts = _whole(
        "\n\n".join(thought.strip() for thought in result.thought_log if thought.strip())
    )
    config = config or StreamConfig()
    text = clean_beside(thoughts, config).strip()
    if not text:
        return ()
    links = "masked_link" in config.clean_off
    tell = _Telling(lanes, sender_for, f"{stream_id}/thoughts", anyio.current_time() + deadline_s)
    try:
        match place.place:
            case "log":
                assert place.channel_id is not None
                embeds = await _in_turns(log_embeds(text, wording, masked_links=links))
                return await tell.embeds(place.channel_id, embeds)
            case "spoiler":
                return await tell.texts(
                    channel_id, await _in_turns(spoilers(text, wording, masked_links=links))
                )
            case "thread":
                with anyio.move_on_after(deadline_s):
                    made = await _below(result, wording, threads)
                    if isinstance(made, int):
                        return await tell.texts(
                            made, await _in_turns(plainly(text, wording, masked_links=links))
                        )
                    return (not_sent(channel_id, made, len(text)),)
                return (not_sent(channel_id, "deadline", len(text)),)
    except Exception as error:  # noqa: BLE001 - thoughts must never fail a reply
        _LOG.warning("telling thoughts failed", extra={"kind": type(error).__name__})
        return (not_sent(channel_id, "unexpected", len(text)),)


def _whole(text: str) -> str:
    # Provider thoughts bypass the stream, so split surrogate pairs are joined here.
    return as_read(text, line_ends=False)


async def _in_turns(made: Iterable[T]) -> list[T]:
    """Return the items that are not empty as a list, with a checkpoint after each."""
    out: list[T] = []
    for item in made:
        if item:
            out.append(item)
        await checkpoint()
    return out


async def _below(result: StreamResult, wording: Wording, threads: Threads | None) -> int | str:
    """Open a thread below the last message of the reply; return its id, or the failure code."""
    if threads is None:
        return "no_threads"
    shown = [receipt.message_id for receipt in result.receipts if receipt.message_id is not None]
    if not shown:
        return "nothing_shown"
    return await threads.start_thread(shown[-1], wording.say("thoughts_thread"))


@frozen
class _Telling:
    lanes: Lanes
    sender_for: Callable[[int], Sender]
    stream_id: str
    until: float

    async def texts(self, channel_id: int, texts: list[str]) -> tuple[Receipt, ...]:
        return await self._send(channel_id, texts, SendOptions(), self.stream_id)

    async def embeds(self, channel_id: int, embeds: list[Embed]) -> tuple[Receipt, ...]:
        receipts: tuple[Receipt, ...] = ()
        for number, embed in enumerate(embeds):
            options = SendOptions(embed=embed)
            receipts += await self._send(channel_id, [""], options, f"{self.stream_id}/{number}")
            if receipts[-1].lost:
                break  # a log with a gap is worse than a truncated one
        return receipts

    async def _send(
        self, channel_id: int, texts: list[str], options: SendOptions, stream_id: str
    ) -> tuple[Receipt, ...]:
        return await send_beside(
            self.lanes,
            self.sender_for(channel_id),
            channel_id,
            texts,
            options=options,
            stream_id=stream_id,
            deadline_s=max(self.until - anyio.current_time(), 0),
        )
