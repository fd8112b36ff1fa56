"""The three adapters: OpenAI-compatible servers, Google Gemini, Anthropic.

Each owns a pool of connections: use it as an async context manager, or call `aclose`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self, Unpack
from urllib.parse import quote, urlsplit

from minamo.core.chunks import Chunk
from minamo.errors import BadRequest
from minamo.shell.providing.checks import (
    checked_headers,
    checked_key,
    checked_model,
    checked_url,
    is_loopback,
    secrets_of,
)
from minamo.shell.providing.endpoint import Endpoint, FrameDecoder
from minamo.shell.providing.http import Deadlines
from minamo.shell.providing.prepared import PreparedConversation
from minamo.wire import anthropic, google, openai
from minamo.wire.anthropic_frames import AnthropicReader
from minamo.wire.conversation import Message, user
from minamo.wire.google_frames import GoogleReader
from minamo.wire.limits import WireLimits
from minamo.wire.openai_frames import OpenAIReader
from minamo.wire.options import ReplyOptions, checked
from minamo.wire.request import Request
from minamo.wire.stream import Frame

_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")
_JSON = {"Content-Type": "application/json", "Accept": "text/event-stream",
         "User-Agent": "minamo"}  # fmt: skip


class OpenAICompatible:
    """OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, DeepSeek, Groq, Mistral and their kin."""

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
        deadlines: Deadlines | None = None,
    ) -> None:
        base = checked_url(base_url, allow_http=allow_http)
        # A server of one's own has no key; anyone else's would answer 401.
        if api_key is not None or not (allow_http or is_loopback(base)):
            api_key = checked_key(api_key)
        host = urlsplit(base).hostname or ""
        self._ways = openai.Ways(
            include_usage=not host.endswith("mistral.ai")
            if include_usage is None
            else include_usage,
            max_tokens_field=max_tokens_field
            or ("max_completion_tokens" if host.endswith("openai.com") else "max_tokens"),
            names=names,
        )
        self._url = f"{base}/chat/completions"
        own = checked_headers(headers or {})
        self._headers = _JSON | ({"Authorization": f"Bearer {api_key}"} if api_key else {}) | own
        self._endpoint = Endpoint(
            base,
            "openai",
            checked_model(model),
            OpenAIReader,
            secrets=secrets_of(api_key or "", own),
            limits=limits,
            deadlines=deadlines,
        )
        self.model, self.host = self._endpoint.model, urlsplit(base).hostname or ""

    def ask(self, text: str, **options: Unpack[ReplyOptions]) -> PreparedConversation:
        """A conversation of one sentence."""
        return self.chat([user(text)], **options)

    def chat(
        self, messages: Sequence[Message], **options: Unpack[ReplyOptions]
    ) -> PreparedConversation:
        """A conversation, ready to be sent."""
        model = self._endpoint.model
        return PreparedConversation(
            self,
            openai.build(self._url, self._headers, model, messages, checked(options), self._ways),
        )

    def start_stream(self, request: Request) -> AsyncIterator[Frame]:
        """Send a request; its frames as they come."""
        return self._endpoint.start_stream(request)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """The chunks of one frame."""
        chunks: list[Chunk] = frame.stream.take(frame.data)
        return chunks

    def decoder(self) -> FrameDecoder:
        """Bytes to frames without a connection, for `minamo.testing.check_adapter`."""
        return self._endpoint.decoder()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"OpenAICompatible({urlsplit(self._url).hostname!r}, model={self._endpoint.model!r})"


class Gemini:
    """Google Gemini, on the Gemini API; Vertex with its own `base_url` and headers."""

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
        deadlines: Deadlines | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1beta")
        key = checked_key(api_key)
        name = checked_model(model).removeprefix("models/")
        if "/" in name or ".." in name:
            raise BadRequest("model is not a name of Gemini's")
        self._url = f"{base}/models/{quote(name)}:streamGenerateContent?alt=sse"
        # In a header, never in the URL: URLs end up in logs.
        own = checked_headers(headers or {})
        self._headers = _JSON | {"x-goog-api-key": key} | own
        self._thoughts = thoughts
        self._endpoint = Endpoint(
            base,
            "google",
            name,
            GoogleReader,
            secrets=secrets_of(key, own),
            limits=limits,
            deadlines=deadlines,
            overlap_removal=overlap_removal,
        )
        self.model, self.host = self._endpoint.model, urlsplit(base).hostname or ""

    def ask(self, text: str, **options: Unpack[ReplyOptions]) -> PreparedConversation:
        """A conversation of one sentence."""
        return self.chat([user(text)], **options)

    def chat(
        self, messages: Sequence[Message], **options: Unpack[ReplyOptions]
    ) -> PreparedConversation:
        """A conversation, ready to be sent."""
        request = google.build(
            self._url,
            self._headers,
            self._endpoint.model,
            messages,
            checked(options),
            thoughts=self._thoughts,
        )
        return PreparedConversation(self, request)

    def start_stream(self, request: Request) -> AsyncIterator[Frame]:
        """Send a request; its frames as they come."""
        return self._endpoint.start_stream(request)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """The chunks of one frame."""
        chunks: list[Chunk] = frame.stream.take(frame.data)
        return chunks

    def decoder(self) -> FrameDecoder:
        """Bytes to frames without a connection, for `minamo.testing.check_adapter`."""
        return self._endpoint.decoder()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Gemini({urlsplit(self._url).hostname!r}, model={self._endpoint.model!r})"


class Anthropic:
    """Anthropic's messages."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = "https://api.anthropic.com",
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        limits: WireLimits | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1")
        key = checked_key(api_key)
        self._url = f"{base}/messages"
        own = checked_headers(headers or {})
        self._headers = _JSON | {"x-api-key": key, "anthropic-version": "2023-06-01"} | own
        self._endpoint = Endpoint(
            base,
            "anthropic",
            checked_model(model),
            AnthropicReader,
            secrets=secrets_of(key, own),
            limits=limits,
            deadlines=deadlines,
        )
        self.model, self.host = self._endpoint.model, urlsplit(base).hostname or ""

    def ask(self, text: str, **options: Unpack[ReplyOptions]) -> PreparedConversation:
        """A conversation of one sentence."""
        return self.chat([user(text)], **options)

    def chat(
        self, messages: Sequence[Message], **options: Unpack[ReplyOptions]
    ) -> PreparedConversation:
        """A conversation, ready to be sent."""
        model = self._endpoint.model
        return PreparedConversation(
            self, anthropic.build(self._url, self._headers, model, messages, checked(options))
        )

    def start_stream(self, request: Request) -> AsyncIterator[Frame]:
        """Send a request; its frames as they come."""
        return self._endpoint.start_stream(request)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """The chunks of one frame."""
        chunks: list[Chunk] = frame.stream.take(frame.data)
        return chunks

    def decoder(self) -> FrameDecoder:
        """Bytes to frames without a connection, for `minamo.testing.check_adapter`."""
        return self._endpoint.decoder()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Anthropic({urlsplit(self._url).hostname!r}, model={self._endpoint.model!r})"


def _versioned(base: str, version: str) -> str:
    """The base with the API's version, unless it names one itself."""
    return base if _VERSION.search(urlsplit(base).path) else f"{base}/{version}"
