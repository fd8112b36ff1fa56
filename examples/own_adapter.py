"""An adapter for a provider that minamo does not know.

The provider sends one JSON string per line, and `"."` at its end. Look at `process_chunk`: whatever
arrives becomes chunks, also a failure; nothing is raised. `check` replays recorded bytes in many
cuts and checks the laws of an adapter; keep such a test beside your own.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable

import aiohttp
import hikari
import msgspec

import minamo
from minamo.testing import check_adapter

Connect = Callable[[str], AsyncIterator[bytes]]


class Lines:
    """The state of one stream: bytes to frames, wherever the reads were cut."""

    def __init__(self) -> None:
        self.rest = b""
        self.done = False

    def feed(self, data: bytes) -> list[minamo.Frame]:
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [self.frame(line) for line in lines]

    def end(self) -> list[minamo.Frame]:
        return [self.frame(None)]

    def frame(self, line: bytes | None) -> minamo.Frame:
        stamp = {"timestamp": time.time_ns() // 1_000_000, "model": "m1"}
        return minamo.Frame(line, "lines", stamp, self)


class LinesAdapter(minamo.Adapter):
    """The adapter; the base class adds `ask` and `chat`.

    There is one for the whole bot, so it holds no state of a stream.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    def decoder(self) -> Lines:
        """Return a decoder from bytes to frames; only `check_adapter` needs this method."""
        return Lines()

    async def start_stream(self, request: minamo.ChatRequest) -> AsyncIterator[minamo.Frame]:
        decoder = self.decoder()
        prompt = "\n".join(f"{message.role}: {message.text}" for message in request.messages)
        try:
            async for data in self._connect(prompt):
                for frame in decoder.feed(data):
                    yield frame
        except (OSError, aiohttp.ClientError):
            pass  # a connection that breaks is an answer without an end
        for frame in decoder.end():
            yield frame

    def process_chunk(self, frame: minamo.Frame) -> list[minamo.Chunk]:
        if frame.stream.done:
            return []
        try:
            said = None if frame.data is None else msgspec.json.decode(frame.data, type=str)
        except msgspec.DecodeError:
            said = None
        frame.stream.done = said in (None, ".")
        if said is None:
            return [minamo.ErrorChunk("api_error", "the answer broke off", retryable=True)]
        if said == ".":
            return [minamo.DoneChunk("stop", model="m1")]
        return [minamo.TextChunk(said)]


async def connect(prompt: str) -> AsyncIterator[bytes]:
    """Send the prompt; the timeouts of the stream end a request that hangs."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            os.environ["LINES_URL"], data=prompt.encode(), allow_redirects=False
        ) as answer,
    ):
        async for data in answer.content.iter_any():
            yield data


def check(recorded: Iterable[bytes] = (b'"Hel"\n"lo"\n"."\n', b'"Hel"\n"lo')) -> None:
    for answer in recorded:  # the second one was cut off
        check_adapter(LinesAdapter(connect), answer)


bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot)
llm = LinesAdapter(connect)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.is_human and event.content:
        await client.stream(event, llm.ask(event.content))


if __name__ == "__main__":
    bot.run()
