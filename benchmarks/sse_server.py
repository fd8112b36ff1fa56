"""A provider on loopback: answers each dialect's path with its recorded reply.

A process of its own, so that its work is in no contestant's CPU time.  Run as a program it reads
`{"replies": {dialect: [frame, …]}, "silent_after": n}` and prints its port.  With `silent_after`
it writes so many frames of a reply and then nothing, with the connection open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

_ENDINGS = {"completions": "openai", "responses": "responses", "messages": "anthropic",
            "Content": "google"}  # fmt: skip
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextlib.contextmanager
def serving(replies: dict[str, list[str]], silent_after: int | None = None) -> Iterator[str]:
    """Serve the replies while the block runs; its value is the address."""
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        wanted = {"replies": replies, "silent_after": silent_after}
        process.stdin.write(json.dumps(wanted).encode())
        process.stdin.close()
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


async def _serve(wanted: dict[str, Any]) -> None:
    replies = {
        dialect: [
            b"%x\r\n%b\r\n" % (len(frame.encode()), frame.encode()) for frame in reply
        ]
        for dialect, reply in wanted["replies"].items()
    }  # fmt: skip

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(_length(head))
                path = head.split(b" ", 2)[1].partition(b"?")[0].decode()
                dialect = next(name for end, name in _ENDINGS.items() if path.endswith(end))
                writer.write(_HEAD)
                for frame in replies[dialect][: wanted["silent_after"]]:
                    writer.write(frame)
                    await writer.drain()
                if wanted["silent_after"] is not None:
                    await reader.read()  # until the client closes
                    break
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(3_600)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length"):
            return int(line.partition(b":")[2])
    return 0


if __name__ == "__main__":
    asyncio.run(_serve(json.load(sys.stdin)))
