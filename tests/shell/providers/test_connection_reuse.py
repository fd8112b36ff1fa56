"""A kept connection that the server closes just then, and what the operator reads in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk
from support.provider_server import refusing, serving
from support.recordings import KEY, adapter, gathered, recording

pytestmark = pytest.mark.anyio
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Hasty:
    """A server that answers the first request of a connection and drops the second unread.

    llama.cpp does so: it keeps the connection alive in its headers and closes it all the same.
    """

    def __init__(self, *, answers: int = 99) -> None:
        self.connections = 0
        self.answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.connections <= self.answers:
            await reader.readuntil(b"\r\n\r\n")
            data = recording("openai-text")
            writer.write(HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
            await writer.drain()
            await reader.read(1)  # the next request arrives, and
        writer.transport.abort()


@asynccontextmanager
async def running(server: Hasty) -> AsyncIterator[str]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_a_request_on_a_closed_connection_is_sent_again_once() -> None:
    server = Hasty()
    async with running(server) as url, adapter("openai", url) as llm:
        for _ in range(3):
            said = gathered([chunk async for chunk in llm.ask("Hi")])
            assert (said.text, type(said.last)) == ("Hello there.", DoneChunk)
    assert server.connections >= 3


async def test_but_only_once() -> None:
    server = Hasty(answers=1)
    async with running(server) as url, adapter("openai", url) as llm:
        first = gathered([chunk async for chunk in llm.ask("Hi")])
        second = gathered([chunk async for chunk in llm.ask("Hi")])
    assert isinstance(first.last, DoneChunk)
    assert isinstance(second.last, ErrorChunk)
    assert second.last.retryable
    assert server.connections == 2


async def test_a_new_connection_that_fails_is_not_tried_again() -> None:
    server = Hasty(answers=0)
    async with running(server) as url, adapter("openai", url) as llm:
        said = gathered([chunk async for chunk in llm.ask("Hi")])
    assert isinstance(said.last, ErrorChunk)
    assert server.connections == 1


async def test_the_log_says_why_a_provider_refused(caplog: pytest.LogCaptureFixture) -> None:
    body = b'{"error": {"message": "No such model, says %b."}}' % KEY.encode()
    with caplog.at_level(logging.WARNING, "minamo.stream"):
        async with serving(refusing(404, body)) as server, adapter("openai", server.url) as llm:
            assert [chunk async for chunk in llm.ask("Hi")]
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "OpenAICompatible('127.0.0.1', model='m') failed: api_error HTTP 404: "
        "No such model, says [key]."
    )
