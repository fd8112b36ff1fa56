"""The three adapters: OpenAI-compatible servers, Google Gemini, Anthropic.

Each owns a pool of connections: use it as an async context manager, or call `aclose`.
They differ in how they are made; the rest is in asking.py.  A method that is borrowed from there
is `Final`, for then every type checker takes it as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit

from minamo.errors import BadRequest
from minamo.shell.providing import asking
from minamo.shell.providing.checks import (
    checked_headers,
    checked_key,
    checked_model,
    checked_url,
    is_loopback,
    secrets_of,
)
from minamo.shell.providing.endpoint import Endpoint
from minamo.shell.providing.http import Deadlines
from minamo.wire import anthropic, google, openai
from minamo.wire.anthropic_frames import AnthropicReader
from minamo.wire.google_frames import GoogleReader
from minamo.wire.limits import WireLimits
from minamo.wire.openai_frames import OpenAIReader
from minamo.wire.openai_ways import ways_for

_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")


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
        name = checked_model(model)
        ways = ways_for(
            urlsplit(base).hostname or "",
            name,
            include_usage=include_usage,
            max_tokens_field=max_tokens_field,
            names=names,
        )
        own = checked_headers(headers or {})
        self._endpoint = Endpoint(
            "openai",
            name,
            f"{base}/chat/completions",
            OpenAIReader,
            partial(openai.build, ways=ways),
            headers=({"Authorization": f"Bearer {api_key}"} if api_key else {}) | own,
            secrets=secrets_of(api_key or "", own),
            limits=limits,
            deadlines=deadlines,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = asking.ask
    chat: Final = asking.chat
    start_stream: Final = asking.start_stream
    process_chunk: Final = asking.process_chunk
    decoder: Final = asking.decoder
    aclose: Final = asking.aclose
    __aenter__: Final = asking.entered
    __aexit__: Final = asking.left
    __repr__: Final = asking.shown


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
        own = checked_headers(headers or {})
        self._endpoint = Endpoint(
            "google",
            name,
            f"{base}/models/{quote(name)}:streamGenerateContent?alt=sse",
            GoogleReader,
            partial(google.build, thoughts=thoughts),
            # In a header, never in the URL: URLs end up in logs.
            headers={"x-goog-api-key": key} | own,
            secrets=secrets_of(key, own),
            limits=limits,
            deadlines=deadlines,
            overlap_removal=overlap_removal,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = asking.ask
    chat: Final = asking.chat
    start_stream: Final = asking.start_stream
    process_chunk: Final = asking.process_chunk
    decoder: Final = asking.decoder
    aclose: Final = asking.aclose
    __aenter__: Final = asking.entered
    __aexit__: Final = asking.left
    __repr__: Final = asking.shown


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
        own = checked_headers(headers or {})
        self._endpoint = Endpoint(
            "anthropic",
            checked_model(model),
            f"{base}/messages",
            AnthropicReader,
            anthropic.build,
            headers={"x-api-key": key, "anthropic-version": "2023-06-01"} | own,
            secrets=secrets_of(key, own),
            limits=limits,
            deadlines=deadlines,
        )
        self.model: str = self._endpoint.model
        self.host: str = self._endpoint.host

    ask: Final = asking.ask
    chat: Final = asking.chat
    start_stream: Final = asking.start_stream
    process_chunk: Final = asking.process_chunk
    decoder: Final = asking.decoder
    aclose: Final = asking.aclose
    __aenter__: Final = asking.entered
    __aexit__: Final = asking.left
    __repr__: Final = asking.shown


def _versioned(base: str, version: str) -> str:
    """The base with the API's version, unless it names one itself."""
    return base if _VERSION.search(urlsplit(base).path) else f"{base}/{version}"
