"""Hear one provider out: chunks into the machine, clocks and stops included, no Discord.

For the terminal and for tests.  What the machine hands over is taken at once, as an idle lane
would.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

import anyio

from minamo.core.actions import Effect
from minamo.core.chunks import Chunk
from minamo.core.stream import Stream
from minamo.shell.prepared import closing
from minamo.shell.scripted import as_chunks


async def listen(
    source: AsyncIterable[str | Chunk],
    stream: Stream,
    *,
    said: Callable[[Chunk], object],
    shown: Callable[[str], object],
    stopped: anyio.Event,
) -> None:
    """Run *stream* to its outcome; *shown* gets every message, *said* every chunk.

    Setting *stopped* is a person's wish to end it.
    """

    def deliver() -> None:
        messages = stream.actions.outbox.take(1)
        stream.delivered(len(messages))
        for message in messages:
            shown(message.text)
        if stream.actions.outbox.limited:
            stream.limit_reached()

    stream.actions.idle_lane = deliver
    async with anyio.create_task_group() as tasks:

        async def heed() -> None:
            await stopped.wait()
            stream.stop("terminal")
            tasks.cancel_scope.cancel()

        tasks.start_soon(heed)
        await _hear(source, stream, said)
        tasks.cancel_scope.cancel()
    stream.flushed()


async def _hear(
    source: AsyncIterable[str | Chunk], stream: Stream, said: Callable[[Chunk], object]
) -> None:
    config = stream.actions.config
    patience = config.first_token_timeout_ms / 1000
    over = anyio.current_time() + config.stream_deadline_ms / 1000
    async with closing(as_chunks(source)) as chunks:
        while Effect.CLOSE not in stream.take_effects():
            left = over - anyio.current_time()
            with anyio.move_on_after(min(patience, left)) as waiting:
                chunk = await anext(chunks, None)
            if waiting.cancelled_caught and left < patience:
                stream.overran()
            elif waiting.cancelled_caught:
                stream.silent()
            elif chunk is None:
                stream.end()
            else:
                said(chunk)
                stream.chunk(chunk)
                patience = config.inactivity_timeout_ms / 1000
