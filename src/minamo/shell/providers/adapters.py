"""The three adapters: OpenAI-compatible servers, Google Gemini, Anthropic.

Each owns a pool of connections: use it as an async context manager, or call `aclose`.
They differ in their constructors only; their methods are the functions below, assigned as `Final`
so that every type checker uses the signatures as written.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar, Unpack
from urllib.parse import quote, urlsplit

from minamo.core.chunks import Chunk
from minamo.errors import BadRequest
from minamo.shell.providers.endpoint import ChatStream, FrameDecoder, ProviderEndpoint
from minamo.shell.providers.http import Timeouts
from minamo.shell.validation import (
    checked_headers,
    checked_key,
    checked_model,
    checked_url,
    is_loopback,
    secrets_of,
)
from minamo.wire.anthropic import request as anthropic
from minamo.wire.anthropic.reader import AnthropicReader
from minamo.wire.conversation import ChatMessage, user
from minamo.wire.frames import Frame, Request
from minamo.wire.google import request as google
from minamo.wire.google.reader import GoogleReader
from minamo.wire.limits import WireLimits
from minamo.wire.openai import request as openai
from minamo.wire.openai.reader import OpenAIReader
from minamo.wire.openai.request import ways_for
from minamo.wire.options import ReplyOptions, checked

T = TypeVar("T")


class Talks(Protocol):
    """A provider with `chat`, as `ask` needs it."""

    def chat(self, messages: Sequence[ChatMessage], **options: Unpack[ReplyOptions]) -> ChatStream:
        """Return a conversation that is sent when it is iterated."""


class Asks(Protocol):
    """An adapter over an endpoint, which holds the dialect and the connections."""

    _endpoint: ProviderEndpoint
    model: str
    host: str

    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Send a request and yield its frames as they arrive."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame."""

    async def aclose(self) -> None:
        """Close the connections."""


def ask(self: Talks, text: str, **options: Unpack[ReplyOptions]) -> ChatStream:
    """Return a conversation of one user message, sent when it is iterated."""
    return self.chat([user(text)], **options)


def chat(
    self: Asks, messages: Sequence[ChatMessage], **options: Unpack[ReplyOptions]
) -> ChatStream:
    """Return a conversation that is sent when it is iterated."""
    return ChatStream(self, self._endpoint.build(messages, checked(options)))


def start_stream(self: Asks, request: Request) -> AsyncIterator[Frame]:
    """Send a request and yield its frames as they arrive."""
    return self._endpoint.start_stream(request)


def process_chunk(_: Asks, frame: Frame) -> list[Chunk]:
    """Return the chunks of one frame."""
    chunks: list[Chunk] = frame.stream.take(frame.data)
    return chunks


def decoder(self: Asks) -> FrameDecoder:
    """Return a decoder from bytes to frames, for `minamo.testing.check_adapter`."""
    return self._endpoint.decoder()


async def aclose(self: Asks) -> None:
    """Close the connections."""
    await self._endpoint.aclose()


async def entered(self: T) -> T:
    """Return the adapter itself, for a block that closes the connections on exit."""
    return self


async def left(self: Asks, *_: object) -> None:
    """Close the connections."""
    await self.aclose()


def shown(self: Asks) -> str:
    """Return a repr with host and model, and nothing of the key."""
    return f"{type(self).__name__}({self.host!r}, model={self.model!r})"


_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")


class OpenAICompatible:
    """Adapter for OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, DeepSeek, Groq, Mistral, others."""

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        include_usage: bool | None = None,
        max_tokens_field: str | None = None,
        names: bool = False,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = checked_url(base_url, allow_http=allow_http)
        # The user's own server may need no key; a public one would answer 401 without it.
        if api_key is not None or not (allow_http or is_loopback(base)):
            api_key = checked_key(api_key)
        name = checked_model(model)
        ways = ways_for(
            urlsplit(base).hostname or "",
            name,
            include_usage=include_usage,
            max_tokens_field=max_tokens_field,
            names=names,
        )
        own = checked_headers(headers or {})
        self._endpoint = ProviderEndpoint(
            "openai",
            name,
            f"{base}/chat/completions",
            OpenAIReader,
            partial(openai.build, ways=ways),
            headers=({"Authorization": f"Bearer {api_key}"} if api_key else {}) | own,
            secrets=secrets_of(api_key or "", own),
            limits=limits,
            timeouts=timeouts,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = ask
    chat: Final = chat
    start_stream: Final = start_stream
    process_chunk: Final = process_chunk
    decoder: Final = decoder
    aclose: Final = aclose
    __aenter__: Final = entered
    __aexit__: Final = left
    __repr__: Final = shown


class Gemini:
    """Adapter for the Gemini API; for Vertex give its `base_url` and headers."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = "https://generativelanguage.googleapis.com",
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        thoughts: bool = False,
        overlap_removal: bool = False,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1beta")
        key = checked_key(api_key)
        name = checked_model(model).removeprefix("models/")
        if "/" in name or ".." in name:
            raise BadRequest("model is not a name of Gemini's")
        own = checked_headers(headers or {})
        self._endpoint = ProviderEndpoint(
            "google",
            name,
            f"{base}/models/{quote(name)}:streamGenerateContent?alt=sse",
            GoogleReader,
            partial(google.build, thoughts=thoughts),
            # In a header, never in the URL: URLs are written to logs.
            headers={"x-goog-api-key": key} | own,
            secrets=secrets_of(key, own),
            limits=limits,
            timeouts=timeouts,
            overlap_removal=overlap_removal,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = ask
    chat: Final = chat
    start_stream: Final = start_stream
    process_chunk: Final = process_chunk
    decoder: Final = decoder
    aclose: Final = aclose
    __aenter__: Final = entered
    __aexit__: Final = left
    __repr__: Final = shown


class Anthropic:
    """Adapter for Anthropic's Messages API."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = "https://api.anthropic.com",
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1")
        key = checked_key(api_key)
        own = checked_headers(headers or {})
        self._endpoint = ProviderEndpoint(
            "anthropic",
            checked_model(model),
            f"{base}/messages",
            AnthropicReader,
            anthropic.build,
            headers={"x-api-key": key, "anthropic-version": "2023-06-01"} | own,
            secrets=secrets_of(key, own),
            limits=limits,
            timeouts=timeouts,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = ask
    chat: Final = chat
    start_stream: Final = start_stream
    process_chunk: Final = process_chunk
    decoder: Final = decoder
    aclose: Final = aclose
    __aenter__: Final = entered
    __aexit__: Final = left
    __repr__: Final = shown


def _versioned(base: str, version: str) -> str:
    """Return *base* with the API version appended, unless it contains one."""
    return base if _VERSION.search(urlsplit(base).path) else f"{base}/{version}"
