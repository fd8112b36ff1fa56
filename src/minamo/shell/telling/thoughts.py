"""Where a reply's thoughts go: nowhere, a log channel, a spoiler below it, or a thread.

Thoughts are long and of interest to few.  Wherever they are told, it is after the reply, cleaned as
the reply is, in messages that ping nobody and show no previews, and in a bounded number of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, TypeVar, get_args

import anyio
from anyio.lowlevel import checkpoint
from attrs import Attribute, field, frozen

from minamo.core.config import StreamConfig
from minamo.core.ledger import Ledger
from minamo.core.result import StreamResult
from minamo.core.surrogates import Surrogates
from minamo.errors import BadSetting
from minamo.shell.sending.lanes import Lanes
from minamo.shell.sending.receipts import Receipt
from minamo.shell.sending.sender import Embed, Sender
from minamo.shell.sending.source import Manner
from minamo.shell.telling.beside import clean_beside, not_sent, send_beside
from minamo.shell.telling.thought_texts import log_embeds, plainly, spoilers
from minamo.shell.telling.wording import Wording

_LOG = logging.getLogger("minamo.thoughts")

T = TypeVar("T")
Place = Literal["nowhere", "log", "spoiler", "thread"]

# For ten messages at Discord's pace, and a little trouble on the way.
TELL_S = 60.0


def _known(_: object, __: object, value: object) -> None:
    if value not in get_args(Place):
        may = ", ".join(get_args(Place))
        raise BadSetting(f"thoughts go to one of {may}; not to {value!r}")


def _id(one: Thoughts, _: Attribute[Any], value: object) -> None:
    if one.place != "log":
        if value is not None:
            raise BadSetting(f"only thoughts in a log have a channel_id, not those in {one.place}")
    elif not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise BadSetting(f"thoughts in a log need channel_id, a channel's id; it is {value!r}")


@frozen
class Thoughts:
    """Where they go: ``Thoughts()``, ``Thoughts("log", channel_id=…)``, ``Thoughts("spoiler")``."""

    place: Place = field(default="nowhere", validator=_known)
    channel_id: int | None = field(default=None, kw_only=True, validator=_id)


class Threads(Protocol):
    """Somebody who can open a thread below a message.  Nothing is raised; no call is cancelled."""

    async def start_thread(self, message_id: int, name: str) -> int | str:
        """The id of the thread, or why there is none, as a short code."""


async def tell_thoughts(
    place: Thoughts,
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
    fold = Surrogates(Ledger())
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
        return await self._send(channel_id, texts, Manner(), self.stream_id)

    async def embeds(self, channel_id: int, embeds: list[Embed]) -> tuple[Receipt, ...]:
        told: tuple[Receipt, ...] = ()
        for number, embed in enumerate(embeds):
            manner = Manner(embed=embed)
            told += await self._send(channel_id, [""], manner, f"{self.stream_id}/{number}")
            if told[-1].lost:
                break  # a log with a hole in it is worse than one that ends
        return told

    async def _send(
        self, channel_id: int, texts: list[str], manner: Manner, stream_id: str
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
