"""Streams of the official SDKs, given to minamo as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, TextChunk
from minamo.shell.providers.scripted import as_chunks
from support.provider_server import Answer, refusing, saying, serving
from support.recordings import KEY, gathered, recording, replayed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ASKED = [{"role": "user", "content": "Hi"}]


@asynccontextmanager
async def opened(dialect: str, url: str) -> AsyncIterator[Any]:
    """The stream of an SDK, as its users get it."""
    if dialect in ("openai", "responses"):
        openai = pytest.importorskip("openai")
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:
            if dialect == "openai":
                yield await client.chat.completions.create(model="m", messages=ASKED, stream=True)
            else:
                yield await client.responses.create(model="m", input="Hi", stream=True)
    elif dialect.startswith("anthropic"):
        anthropic = pytest.importorskip("anthropic")
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:
            asked = {"model": "m", "max_tokens": 9, "messages": ASKED}
            if dialect == "anthropic":
                yield await client.messages.create(**asked, stream=True)
            else:
                async with client.messages.stream(**asked) as stream:
                    yield stream
    else:
        genai = pytest.importorskip("google.genai")
        client = genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))
        yield await client.aio.models.generate_content_stream(model="m", contents="Hi")
        await client.aio.aclose()


async def heard(dialect: str, answer: Answer) -> list[Chunk]:
    async def source() -> AsyncIterator[Any]:
        async with opened(dialect, server.url) as stream:
            async for event in stream:
                yield event

    async with serving(answer) as server:
        return [chunk async for chunk in as_chunks(source())]


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("openai", "openai-text"), ("openai", "openai-05-parallel"), ("openai", "openai-length"),
        ("openai", "openai-04-reasoning-content"), ("openai", "openai-02-perplexity"),
        ("responses", "responses-text"), ("responses", "responses-tools"),
        ("responses", "responses-web-search"), ("responses", "responses-unknown-events"),
        ("anthropic", "anthropic-text"), ("anthropic", "anthropic-thinking"),
        ("anthropic", "anthropic-09-server-tools"), ("anthropic stream", "anthropic-thinking"),
        ("anthropic stream", "anthropic-text"), ("google", "google-text"),
        ("google", "google-parallel"), ("google", "google-grounding"),
        ("google", "google-18-image"), ("google", "google-19-speech"),
        ("google", "google-other-parts"), ("openai", "openai-18-image"),
        ("openai", "openai-19-speech"), ("responses", "responses-image"),
    ],
)  # fmt: skip
async def test_an_sdk_stream_is_read_like_our_own(dialect: str, name: str) -> None:
    said, ours = gathered(await heard(dialect, saying(recording(name)))), replayed(name)

    assert (said.text, said.thoughts, said.calls) == (ours.text, ours.thoughts, ours.calls)
    assert isinstance(said.last, DoneChunk)
    assert isinstance(ours.last, DoneChunk)
    assert said.last.usage == ours.last.usage
    assert said.last.finish_reason == ours.last.finish_reason
    assert said.last.citations == ours.last.citations
    assert said.files == ours.files


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("responses", "responses-failed"), ("responses", "responses-refusal"),
     ("anthropic", "anthropic-13-refusal"), ("google", "google-safety")],
)  # fmt: skip
async def test_errors_in_the_stream(dialect: str, name: str) -> None:
    said, ours = gathered(await heard(dialect, saying(recording(name)))), replayed(name)
    assert (said.text, said.last) == (ours.text, ours.last)


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "google"])
async def test_errors_that_the_sdk_raises(dialect: str) -> None:
    body = b'{"error": {"code": 429, "message": "Slow down, %b.", "status": "X"}}' % KEY.encode()
    headers = {"Retry-After": "7", "Content-Type": "application/json"}
    (error,) = await heard(dialect, refusing(429, body, **headers))
    assert isinstance(error, ErrorChunk)
    assert (error.kind, error.retryable, error.status) == ("rate_limit", True, 429)
    assert error.message.startswith("Slow down, [key]")
    assert error.retry_after == 7.0


async def test_an_error_in_mid_stream() -> None:
    *_, error = await heard("openai", saying(recording("openai-07-openrouter-error")))
    assert isinstance(error, ErrorChunk)
    assert error.kind != "api_error" or error.message


async def test_a_stream_is_closed_when_it_is_no_longer_read() -> None:
    async with (
        serving(saying(recording("openai-text"))) as server,
        opened("openai", server.url) as stream,
    ):
        chunks = as_chunks(stream)
        await anext(chunks)
        await chunks.aclose()
        assert stream.response.is_closed


async def test_pydantic_ai() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(custom_output_text="Hello there."))

    @agent.tool_plain
    def roll() -> int:
        return 4

    async with agent.run_stream_events("Hi") as events:
        said = gathered([chunk async for chunk in as_chunks(events)])
    assert said.text == "Hello there."
    assert isinstance(said.last, DoneChunk)
    assert said.last.usage is not None


class Odd:
    """An object whose attributes raise."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(name)


@pytest.mark.parametrize("make", [Odd, object, int, lambda: None])
async def test_other_objects_are_refused_as_ever(make: Any) -> None:
    async def source() -> AsyncIterator[Any]:
        yield "a"
        yield make()

    first, error = [chunk async for chunk in as_chunks(source())]
    assert first == TextChunk("a")
    assert isinstance(error, ErrorChunk)


async def test_an_exception_with_odd_attributes_is_still_one() -> None:
    class Wrong(Exception):
        def __getattr__(self, name: str) -> Any:
            raise OSError(name)

    async def source() -> AsyncIterator[Any]:
        yield "a"
        raise Wrong

    *_, error = [chunk async for chunk in as_chunks(source())]
    assert error == ErrorChunk("api_error", "the provider failed (Wrong)")
