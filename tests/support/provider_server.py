"""A local HTTP server that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """What happened at a server."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.peers: set[Any] = set()

    @property
    def count(self) -> int:
        return len(self.requests)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    """Serve on 127.0.0.1, any path, until the block ends."""
    server = Server()

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        server.peers.add(request.transport.get_extra_info("peername"))
        body = await request.read()
        server.requests.append(
            {"path": request.path_qs, "headers": dict(request.headers), "body": body}
        )
        return await answer(request)

    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def streamed(request: web.Request, *pieces: bytes, **headers: str) -> web.StreamResponse:
    """An event stream of these pieces, each written by itself."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    return response


def saying(*pieces: bytes) -> Answer:
    """An answer that streams the same pieces to everyone."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await streamed(request, *pieces)

    return answer


def refusing(status: int, body: bytes = b"", **headers: str) -> Answer:
    """An answer with a status."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=headers)

    return answer
