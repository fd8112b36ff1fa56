"""A process in which streams run; started by the tests, told what to do line by line.

    start ID CHANNEL   a stream runs until it hears a wish
    end ID             it ends
Each wish is answered with a line: the stream, the kind, and when it was heard.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import ExitStack

from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import StopRequest, StopSignal


def say(*words: object) -> None:
    print(*words, flush=True)


async def main(url: str, prefix: str) -> None:
    # Standard input without a thread: a thread would have to be waited for.
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    running: dict[str, ExitStack] = {}
    async with RedisStops(url, prefix=prefix) as stops:
        say("ready")
        while line := (await reader.readline()).decode().split():
            match line:
                case ["start", stream_id, channel]:

                    def hear(wish: StopRequest, stream_id: str = stream_id) -> None:
                        say(stream_id, wish.kind, time.monotonic_ns())

                    stop_signal = StopSignal()
                    stack = running[stream_id] = ExitStack()
                    stack.enter_context(stops.register(stream_id, int(channel), stop_signal))
                    stack.enter_context(stop_signal.listen(hear))
                case ["end", stream_id]:
                    running.pop(stream_id).close()
            say("ok")
        for stack in running.values():
            stack.close()
    transport.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
