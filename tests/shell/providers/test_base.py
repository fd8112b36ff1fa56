"""The base class of adapters: what a subclass inherits, and the short way of the built-in ones."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import pytest
from anyio import fail_after, move_on_after

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, TextChunk
from minamo.core.contract import TEXT_MAX
from minamo.errors import BadRequest, BadSetting
from minamo.shell.providers import http
from minamo.shell.providers.adapters import OpenAICompatible
from minamo.shell.providers.base import Adapter, ChatRequest, ChatStream
from minamo.shell.providers.scripted import as_chunks
from minamo.wire.conversation import user
from minamo.wire.frames import Frame
from minamo.wire.openai.reader import OpenAIReader
from minamo.wire.sse import SseEvent
from support.provider_server import refusing, saying, serving
from support.recordings import KEY, adapter, gathered, recording
from support.waiting import until

pytestmark = pytest.mark.anyio


class Echo(Adapter):
    """The least subclass: it repeats the last message."""

    model = "echo-1"

    async def start_stream(self, request: ChatRequest) -> AsyncIterator[Frame]:
        yield Frame(request.messages[-1].text)
        yield Frame(request.options.max_tokens)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        return [TextChunk(str(frame.data))]


async def test_two_methods_make_an_adapter() -> None:
    async with Echo() as llm:
        said = [chunk async for chunk in llm.ask("Hi", max_tokens=7)]
        assert said == [TextChunk("Hi"), TextChunk("7")]
        assert llm.chat([user("Hi")]).request == ChatRequest((user("Hi"),))
        assert repr(llm) == "Echo(model='echo-1')"


async def test_options_are_checked_for_every_adapter() -> None:
    with pytest.raises(BadRequest, match="temperature must be a number"):
        Echo().ask("Hi", temperature=9)


def test_an_adapter_without_the_two_methods_is_refused() -> None:
    with pytest.raises(BadRequest, match="start_stream and process_chunk; a object has not"):
        ChatStream(object(), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["on_raw_chunk", "on_provider_error"])
def test_a_hook_must_be_a_plain_function(name: str) -> None:
    async def hook(self: Any, told: Any) -> None: ...

    with pytest.raises(BadSetting, match=f"Odd.{name} is an `async def`"):
        type("Odd", (Echo,), {name: hook})().ask("Hi")


class Curious(OpenAICompatible):
    """A built-in adapter whose frames are looked at."""

    seen: list[Frame]

    def on_raw_chunk(self, frame: Frame) -> None:
        self.seen.append(frame)


class Loud(OpenAICompatible):
    """A built-in adapter whose chunks are changed."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        chunks = super().process_chunk(frame)
        return [TextChunk(c.content.upper()) if isinstance(c, TextChunk) else c for c in chunks]


async def test_frames_are_made_for_a_subclass_that_reads_them() -> None:
    async with serving(saying(recording("openai-text"))) as server:
        async with OpenAICompatible(f"{server.url}/v1", model="m") as llm:
            plain = [chunk async for chunk in llm.ask("Hi")]
        async with Curious(f"{server.url}/v1", model="m") as curious:
            curious.seen = []
            assert [chunk async for chunk in curious.ask("Hi")] == plain
        async with Loud(f"{server.url}/v1", model="m") as loud:
            assert gathered([chunk async for chunk in loud.ask("Hi")]).text == "HELLO THERE."
    assert {(f.provider, f.metadata["model"]) for f in curious.seen} == {("openai", "m")}
    assert isinstance(plain[-1], DoneChunk)


async def test_a_hook_may_be_an_attribute_of_one_adapter() -> None:
    seen: list[Frame] = []
    async with (
        serving(saying(recording("anthropic-text"))) as server,
        adapter("anthropic", server.url) as llm,
    ):
        llm.on_raw_chunk = seen.append
        assert gathered([chunk async for chunk in llm.ask("Hi")]).text == "Hello there."
    assert seen


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(refusing(429), "rate_limit"), (saying(recording("openai-cut")), "api_error")],
)
async def test_the_error_hook_of_a_built_in_adapter(answer: Any, kind: str) -> None:
    errors: list[ErrorChunk] = []
    async with serving(answer) as server, adapter("openai", server.url) as llm:
        llm.on_provider_error = errors.append
        *_, last = [chunk async for chunk in llm.ask("Hi")]
    assert errors == [last]
    assert last.kind == kind


async def test_a_bug_of_ours_is_an_error_chunk_too() -> None:
    errors: list[ErrorChunk] = []
    async with adapter("openai") as llm, adapter("openai", "http://127.0.0.1:8") as other:
        llm.on_provider_error = errors.append
        # A request for another host than the adapter's is refused before it is sent.
        (last,) = [chunk async for chunk in ChatStream(llm, other.ask("Hi").request)]
    assert last == ErrorChunk("api_error", "the adapter failed (BadRequest)")
    assert errors == [last]


async def test_a_conversation_is_read_without_a_second_generator() -> None:
    chunks = as_chunks(Echo().ask("Hi"))
    assert chunks.__name__ == "_read_frames"
    assert [chunk async for chunk in chunks] == [TextChunk("Hi"), TextChunk("None")]


class Slow(OpenAIReader):
    """A reader that takes a second for each event, as for a very large picture on a slow computer."""

    def feed(self, event: SseEvent) -> list[Chunk]:
        time.sleep(1)
        return super().feed(event)


async def test_a_stop_does_not_wait_for_a_large_event() -> None:
    large = b'data: {"choices":[{"delta":{"content":"Hi"}}],"padding":"%s"}\n\n' % (b"x" * 300_000)
    chunks: list[Chunk] = []
    async with serving(saying(large)) as server, adapter("openai", server.url) as llm:
        llm._reader = Slow
        begin = time.perf_counter()
        with move_on_after(0.3) as scope:
            async for chunk in llm.ask("Hi"):
                chunks.append(chunk)  # noqa: PERF401 - it is cancelled
        took = time.perf_counter() - begin
    assert (scope.cancelled_caught, chunks) == (True, [])
    assert took < 0.8


@pytest.mark.parametrize("length", [500, 501, 5_000])
async def test_a_long_text_arrives_in_pieces(length: int) -> None:
    text = "a" * length
    data = b'data: {"choices":[{"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n'
    async with (
        serving(saying(data % text.encode())) as server,
        adapter("openai", server.url) as llm,
    ):
        for options in ({}, {"on_raw_chunk": lambda frame: None}):
            vars(llm).update(options)
            texts = [c.content async for c in llm.ask("Hi") if isinstance(c, TextChunk)]
            assert "".join(texts) == text
            assert max(map(len, texts)) == TEXT_MAX


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
async def running(server: Hasty | Late) -> AsyncIterator[str]:
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


class Late:
    """A server that ends each response so many seconds after the reply in it."""

    def __init__(self, seconds: float, dialect: str) -> None:
        self.connections = self.open = 0
        self.seconds = seconds
        self.data = recording(f"{dialect}-text")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
                await reader.readexactly(int(length))
                writer.write(HEAD + b"%x\r\n%b\r\n" % (len(self.data), self.data))
                if not await self.left(reader):
                    writer.write(b"0\r\n\r\n")
        writer.transport.abort()
        self.open -= 1

    async def left(self, reader: asyncio.StreamReader) -> bool:
        """Wait; return whether the client closed the connection meanwhile."""
        with move_on_after(self.seconds):
            return await reader.read(1) == b""
        return False


@asynccontextmanager
async def listening(server: Late) -> AsyncIterator[str]:
    """Run the server until its connections are closed."""
    async with running(server) as url:
        yield url
        await until(lambda: not server.open)


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "google"])
async def test_a_connection_is_used_again_if_the_end_of_a_response_is_late(dialect: str) -> None:
    server = Late(0.005, dialect)
    async with listening(server) as url, adapter(dialect, url) as llm:
        for options in ({}, {"on_raw_chunk": lambda frame: None}):
            vars(llm).update(options)
            for _ in range(3):
                # As a driver does it: nothing is read behind the done chunk.
                async with aclosing(aiter(llm.ask("Hi"))) as chunks:
                    while not isinstance(await anext(chunks), DoneChunk):
                        pass
            assert [chunk async for chunk in llm.ask("Hi")]
    assert server.connections == 1


async def test_the_end_of_a_response_is_not_awaited_for_long() -> None:
    server = Late(60, "openai")
    async with listening(server) as url, adapter("openai", url) as llm:
        for _ in range(2):
            with fail_after(2):
                said = gathered([chunk async for chunk in llm.ask("Hi")])
            assert (said.text, type(said.last)) == ("Hello there.", DoneChunk)
    assert server.connections == 2


async def test_a_stop_does_not_wait_for_the_end_of_a_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_END_S", 5)
    server = Late(60, "openai")
    server.data = server.data[:-20]
    async with listening(server) as url, adapter("openai", url) as llm:
        async with aclosing(aiter(llm.ask("Hi"))) as chunks:
            assert await anext(chunks)
            begin = time.perf_counter()
        assert time.perf_counter() - begin < 1


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
