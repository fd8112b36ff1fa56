"""Hermes Agent: the think filter and splitter of its gateway, and its stream consumer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from gateway.platforms.base import BasePlatformAdapter
from gateway.response_filters import is_partial_silence_marker
from gateway.stream_consumer import GatewayStreamConsumer
from rest import Channel, tokens
from streaming import different

LIMIT = 2_000


def _consumer(adapter: Any = None) -> Any:
    return GatewayStreamConsumer(adapter, "1")


def _filtered(chunks: list[str]) -> str:
    consumer = _consumer()
    for chunk in chunks:
        consumer._filter_and_accumulate(chunk)
    consumer._flush_think_buffer()
    return str(consumer._accumulated)


def pipeline(chunks: list[str], peer: str = "") -> list[str]:
    """Filter thoughts chunk by chunk, and split the text at the end.

    Its loop looks at the whole text every 50 ms: at 60 chunks per second, after every third.
    """
    del peer
    consumer = _consumer()
    for number, chunk in enumerate(chunks):
        consumer._filter_and_accumulate(chunk)
        if not number % 3:
            is_partial_silence_marker(consumer._clean_for_display(consumer._accumulated))
    consumer._flush_think_buffer()
    text = consumer._clean_for_display(consumer._accumulated)
    return list(BasePlatformAdapter.truncate_message(text, LIMIT))


def split(texts: list[str]) -> list[list[str]]:
    """Cut texts into messages."""
    return [list(BasePlatformAdapter.truncate_message(text, LIMIT)) for text in texts]


def visible(text: str, cuts: list[list[int]], peer: str) -> list[str]:
    """Return what different ways to cut a text leave of it."""
    del peer
    return different(text, cuts, _filtered)


class Sent:
    """What the consumer expects of a call: whether it succeeded, and the message's id."""

    def __init__(self, message_id: str) -> None:
        self.success, self.message_id, self.error = True, message_id, None
        self.raw_response = self.continuation_message_ids = None


class Adapter:
    """A platform adapter on a channel of the local Discord."""

    MAX_MESSAGE_LENGTH = LIMIT
    truncate_message = staticmethod(BasePlatformAdapter.truncate_message)

    def __init__(self, channel: Channel | Memory) -> None:
        self.channel = channel

    async def send(self, chat_id: str, content: str, **_: Any) -> Sent:
        """Create a message."""
        del chat_id
        return Sent(await self.channel.create(content))

    async def edit_message(
        self, chat_id: str, message_id: str, content: str, *, finalize: bool = False, **_: Any
    ) -> Sent:
        """Edit a message."""
        del chat_id, finalize
        await self.channel.edit(message_id, content)
        return Sent(message_id)

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        """Delete a message."""
        del chat_id
        await self.channel.delete(message_id)
        return True

    def supports_draft_streaming(self, *_: Any, **__: Any) -> bool:
        """Return False: Discord has no drafts."""
        return False


def connect(place: dict[str, Any]) -> None:
    """Do nothing: there is no gateway."""
    del place


async def live(
    place: dict[str, Any], text: str, rate: float, begin: float, options: dict[str, Any]
) -> None:
    """Stream a reply into a channel as the gateway does."""
    del options
    async with Channel(place) as channel:
        consumer = _consumer(Adapter(channel))
        running = asyncio.ensure_future(consumer.run())
        async for token in tokens(text, rate, begin):
            consumer.on_delta(token)
        consumer.finish()
        await running


class Memory:
    """A channel without Discord."""

    async def create(self, content: str) -> str:
        """Accept a message."""
        del content
        return "1"

    async def edit(self, message_id: str, content: str) -> None:
        """Accept an edit."""

    async def delete(self, message_id: str) -> None:
        """Accept a deletion."""


async def stop(url: str, dialect: str, peer: str, after: int) -> dict[str, Any]:
    """Withdraw a running reply, as /stop does; return how long its consumer went on."""
    del url, dialect, peer, after
    current = True
    consumer = GatewayStreamConsumer(Adapter(Memory()), "1", run_still_current=lambda: current)
    running = asyncio.ensure_future(consumer.run())
    consumer.on_delta("Half a sentence, and then nothing")
    await asyncio.sleep(0.3)
    current = False
    began = time.perf_counter()
    await running
    return {"took_s": time.perf_counter() - began, "kept": 1}
