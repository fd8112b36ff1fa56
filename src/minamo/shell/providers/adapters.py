"""The adapters: OpenAI, OpenAI-compatible servers, Google Gemini, Anthropic.

Each is a constructor that knows the provider's address and headers; `HttpAdapter` does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial
from urllib.parse import quote, urlsplit

from minamo.errors import BadRequest
from minamo.shell.providers.base import HttpAdapter
from minamo.shell.providers.http import Timeouts
from minamo.shell.validation import (
    checked_key,
    checked_model,
    checked_url,
    is_loopback,
)
from minamo.wire.anthropic import request as anthropic
from minamo.wire.anthropic.reader import AnthropicReader
from minamo.wire.google import request as google
from minamo.wire.google.reader import GoogleReader
from minamo.wire.limits import WireLimits
from minamo.wire.openai import request as openai
from minamo.wire.openai.reader import OpenAIReader
from minamo.wire.openai.request import ways_for
from minamo.wire.responses import request as responses
from minamo.wire.responses.reader import ResponsesReader

# Routers and services that send comments while a model queues or thinks, sometimes for minutes.
_THINK_SILENTLY = ("openrouter.ai", "deepseek.com", "moonshot.ai", "moonshot.cn")
_NO_SEARCH = {"web_search": "chat completions search the web on OpenRouter and Perplexity only"}
_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")


class OpenAICompatible(HttpAdapter):
    """Adapter for OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, DeepSeek, Groq, Mistral, others.

    *media_types* are those of files that the model takes, such as `application/pdf`; known for
    OpenAI and OpenRouter, none elsewhere unless given.
    """

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
        media_types: Collection[str] | None = None,
        keep_alive: bool | None = None,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = checked_url(base_url, allow_http=allow_http)
        # The user's own server may need no key; a public one would answer 401 without it.
        if api_key is not None or not (allow_http or is_loopback(base)):
            api_key = checked_key(api_key)
        name = checked_model(model)
        host = urlsplit(base).hostname or ""
        ways = ways_for(
            host,
            name,
            include_usage=include_usage,
            max_tokens_field=max_tokens_field,
            names=names,
            media_types=media_types,
        )
        super().__init__(
            "openai",
            name,
            f"{base}/chat/completions",
            OpenAIReader,
            partial(openai.build, ways=ways),
            lacks={} if ways.search_plugin or ways.searches else _NO_SEARCH,
            media_types=ways.media_types,
            key=api_key,
            auth={"Authorization": f"Bearer {api_key}"} if api_key else {},
            headers=headers,
            limits=limits,
            timeouts=timeouts,
            keep_alive=host.endswith(_THINK_SILENTLY) if keep_alive is None else keep_alive,
        )


class OpenAI(HttpAdapter):
    """Adapter for OpenAI's Responses API; for another server that speaks it give its `base_url`.

    With *thoughts*, reasoning models report summaries of their thoughts.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str = "https://api.openai.com/v1",
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        thoughts: bool = False,
        keep_alive: bool = True,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = checked_url(base_url, allow_http=allow_http)
        if api_key is not None or not (allow_http or is_loopback(base)):
            api_key = checked_key(api_key)
        name = checked_model(model)
        super().__init__(
            "openai",
            name,
            f"{base}/responses",
            ResponsesReader,
            partial(responses.build, thoughts=thoughts),
            lacks={
                "stop": "the Responses API has no stop strings",
                "seed": "the Responses API draws its own",
            },
            media_types=responses.media_types(urlsplit(base).hostname or "", name),
            key=api_key,
            auth={"Authorization": f"Bearer {api_key}"} if api_key else {},
            headers=headers,
            limits=limits,
            timeouts=timeouts,
            keep_alive=keep_alive,
        )


class Gemini(HttpAdapter):
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
        keep_alive: bool = True,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1beta")
        key = checked_key(api_key)
        name = checked_model(model).removeprefix("models/")
        if "/" in name or ".." in name:
            raise BadRequest("model is not a name of Gemini's")
        super().__init__(
            "google",
            name,
            f"{base}/models/{quote(name)}:streamGenerateContent?alt=sse",
            GoogleReader,
            partial(google.build, thoughts=thoughts),
            media_types=google.media_types(name),
            # In a header, never in the URL: URLs are written to logs.
            key=key,
            auth={"x-goog-api-key": key},
            headers=headers,
            limits=limits,
            timeouts=timeouts,
            keep_alive=keep_alive,
            overlap_removal=overlap_removal,
        )


class Anthropic(HttpAdapter):
    """Adapter for Anthropic's Messages API.  With *thoughts*, models report summaries of theirs."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = "https://api.anthropic.com",
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        thoughts: bool = False,
        keep_alive: bool = True,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        base = _versioned(checked_url(base_url, allow_http=allow_http), "v1")
        key = checked_key(api_key)
        name = checked_model(model)
        super().__init__(
            "anthropic",
            name,
            f"{base}/messages",
            AnthropicReader,
            partial(anthropic.build, thoughts=thoughts),
            lacks={"seed": "Anthropic's models draw their own"},
            media_types=anthropic.media_types(name),
            key=key,
            auth={"x-api-key": key, "anthropic-version": "2023-06-01"},
            headers=headers,
            limits=limits,
            timeouts=timeouts,
            keep_alive=keep_alive,
        )


def _versioned(base: str, version: str) -> str:
    """Return *base* with the API version appended, unless it contains one."""
    return base if _VERSION.search(urlsplit(base).path) else f"{base}/{version}"
