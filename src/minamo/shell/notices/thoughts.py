"""Thoughts as messages: embeds for a log, spoilers, or plain text; a bounded number of each.

They are made one after the other: a thought is long, and the event loop has other work.
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

from minamo.core.accounting.spans import Ledger
from minamo.core.cleaning.characters import inner_positions
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import NOTHING, fit_front
from minamo.core.lexing.intake import SurrogateJoiner
from minamo.core.limits import MESSAGE_LENGTH, UTF16_MAX
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Embed, Sender, SendOptions
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.delivery.receipts import Receipt
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import clean_beside, not_sent, send_beside

# A grey that is neither good nor bad.
GREY = 0x99AAB5
# Discord's limit for the text of an embed.  One embed goes with each message, so that the limits
# over all embeds of a message (10, and 6000 characters) are kept by themselves.
DESCRIPTION_MAX = 4_096
# Nobody reads more; a thought can have a million characters.
MESSAGES_MAX = 10
# Room for the line that says how much was left out.
_NOTE_MAX = 100

_BAR, _BREAK = "||", "\u200b"
# Both bars, and a break inside each.
_AROUND = 2 * (len(_BAR) + len(_BREAK))
_UNITS_MAX = UTF16_MAX - _AROUND - _NOTE_MAX
# So few characters never have too many UTF-16 units, whatever they are.
_WIDE = _UNITS_MAX // 2
_BARS = re.compile(r"\|(?=\|)")

_FENCE = re.compile(r"^ {0,3}```+([^\s`]{0,32})[^`\n]*$", re.MULTILINE)
_CLOSE = "\n```"
# No sign that people take for one character has more parts.
_GRAPHEME_MAX = 32


def log_embeds(text: str, wording: Wording) -> Iterator[Embed]:
    """The embeds that hold *text*, in order, each for a message of its own."""
    title = wording.say("thoughts_title")
    for part in _noted(_cut(text, DESCRIPTION_MAX - _NOTE_MAX), len(text), wording):
        yield Embed(title=title, description=part, colour=GREY)
        title = ""


def spoilers(text: str, wording: Wording) -> Iterator[str]:
    """The messages that hide *text* until somebody wants to see it."""
    room = MESSAGE_LENGTH - _AROUND - _NOTE_MAX
    kept = text[: MESSAGES_MAX * room]
    # The breaks between bars are not counted as text.
    breaks = [bar.end() + number for number, bar in enumerate(_BARS.finditer(kept))]
    made = (
        (parts, end - bisect_left(breaks, end))
        for parts, end in _fitted(_BARS.sub(f"|{_BREAK}", kept), room, narrow=_WIDE)
    )
    for part in _noted(made, len(text), wording):
        yield _hidden(part)


def plainly(text: str, wording: Wording) -> Iterator[str]:
    """The messages that show *text* as it is."""
    room = MESSAGE_LENGTH - _NOTE_MAX
    return _noted(_fitted(text[: MESSAGES_MAX * room], room), len(text), wording)


def _hidden(part: str) -> str:
    # A bar at the edge would be read as one of ours, and a backslash would take ours away.
    before = _BREAK if part.startswith("|") else ""
    after = _BREAK if part.endswith(("|", "\\")) else ""
    return f"{_BAR}{before}{part}{after}{_BAR}"


def _noted(made: Iterable[tuple[list[str], int]], size: int, wording: Wording) -> Iterator[str]:
    """The parts; the last says how much of the *size* characters is in none of them."""
    last, done = "", 0
    for parts, end in made:
        done = end
        for part in parts:
            if last:
                yield last
            last = part
    if last and done < size:
        last += f"\n{wording.say('thoughts_left_out', characters=size - done)}"
    if last:
        yield last


def _fitted(text: str, room: int, narrow: int = 0) -> Iterator[tuple[list[str], int]]:
    """As many messages as may be, a portion of the text at a time, and where each portion ends.

    A portion with too many UTF-16 units is made into messages of *narrow* characters, if given.
    """
    at, count, carry, limit = 0, 0, NOTHING, room
    while at < len(text) and count < MESSAGES_MAX:
        if narrow and _units(text[at : at + room]) > _UNITS_MAX:
            limit = narrow  # most likely
        fitted, end = fit_front(
            text[at:],
            room=MESSAGES_MAX - count,
            limit=limit,
            carry=carry,
            mid_line=at > 0 and text[at - 1] != "\n",
        )
        parts = [message.text for message in fitted.messages]
        if limit == room and narrow and any(_units(part) > _UNITS_MAX for part in parts):
            limit = narrow
            continue
        at, carry, limit = at + end, fitted.carry, room
        count += len(parts)
        yield parts, at


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, room: int) -> Iterator[tuple[list[str], int]]:
    """Parts that are longer than any message, with code blocks closed and opened again."""
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
    """The best place to cut before *most*: a paragraph, a line, a word, a grapheme."""
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
    """The language of the code block that *part* leaves open, if it does."""
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

# For ten messages at Discord's pace, and a little trouble on the way.
TELL_S = 60.0


def _known(_: object, __: object, value: object) -> None:
    if value not in get_args(Place):
        may = ", ".join(get_args(Place))
        raise BadSetting(f"thoughts go to one of {may}; not to {value!r}")


def _id(one: ThoughtDisplay, _: Attribute[Any], value: object) -> None:
    if one.place != "log":
        if value is not None:
            raise BadSetting(f"only thoughts in a log have a channel_id, not those in {one.place}")
    elif not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise BadSetting(f"thoughts in a log need channel_id, a channel's id; it is {value!r}")


@frozen
class ThoughtDisplay:
    """Where they go: ``Thoughts()``, ``Thoughts("log", channel_id=…)``, ``Thoughts("spoiler")``."""

    place: Place = field(default="nowhere", validator=_known)
    channel_id: int | None = field(default=None, kw_only=True, validator=_id)


class Threads(Protocol):
    """Somebody who can open a thread below a message.  Nothing is raised; no call is cancelled."""

    async def start_thread(self, message_id: int, name: str) -> int | str:
        """The id of the thread, or why there is none, as a short code."""


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
    """Tell the thoughts of *result*, to be called when its reply is settled.

    *sender_for* makes the sender for a channel or thread.  Never raises but for a cancellation
    from outside.  What could not be told, or not all of it, is in the receipts.
    """
    if place.place == "nowhere":
        return ()
    said = _whole("\n\n".join(one.strip() for one in result.thought_log if one.strip()))
    text = clean_beside(said, config or StreamConfig()).strip()
    if not text:
        return ()
    tell = _Telling(lanes, sender_for, f"{stream_id}/thoughts", anyio.current_time() + deadline_s)
    try:
        match place.place:
            case "log":
                assert place.channel_id is not None
                embeds = await _in_turns(log_embeds(text, wording))
                return await tell.embeds(place.channel_id, embeds)
            case "spoiler":
                return await tell.texts(channel_id, await _in_turns(spoilers(text, wording)))
            case "thread":
                with anyio.move_on_after(deadline_s):
                    made = await _below(result, wording, threads)
                    if isinstance(made, int):
                        return await tell.texts(made, await _in_turns(plainly(text, wording)))
                    return (not_sent(channel_id, made, len(text)),)
                return (not_sent(channel_id, "deadline", len(text)),)
    except Exception as error:  # noqa: BLE001 - a thought is never worth a reply
        _LOG.warning("telling thoughts failed", extra={"kind": type(error).__name__})
        return (not_sent(channel_id, "unexpected", len(text)),)


def _whole(text: str) -> str:
    # What a provider calls a thought comes past the stream, with its torn characters.
    fold = SurrogateJoiner(Ledger())
    return fold.feed(text) + fold.release()


async def _in_turns(made: Iterable[T]) -> list[T]:
    """Make them all, and let others work in between."""
    out: list[T] = []
    for one in made:
        out.append(one)
        await checkpoint()
    return out


async def _below(result: StreamResult, wording: Wording, threads: Threads | None) -> int | str:
    """The thread below the last message of the reply, or why there is none."""
    if threads is None:
        return "no_threads"
    shown = [one.message_id for one in result.receipts if one.message_id is not None]
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
        told: tuple[Receipt, ...] = ()
        for number, embed in enumerate(embeds):
            manner = SendOptions(embed=embed)
            told += await self._send(channel_id, [""], manner, f"{self.stream_id}/{number}")
            if told[-1].lost:
                break  # a log with a hole in it is worse than one that ends
        return told

    async def _send(
        self, channel_id: int, texts: list[str], manner: SendOptions, stream_id: str
    ) -> tuple[Receipt, ...]:
        return await send_beside(
            self.lanes,
            self.sender_for(channel_id),
            channel_id,
            texts,
            manner=manner,
            stream_id=stream_id,
            deadline_s=max(self.until - anyio.current_time(), 0),
        )
