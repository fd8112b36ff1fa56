"""The official SDKs and what people put in front of them, each used as its documentation shows."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from streaming import different, many_streams

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no request for a list of prices
ASK: Any = [{"role": "user", "content": "Hi"}]
_MADE: dict[tuple[str, ...], Any] = {}


def _once(make: Callable[[], Any], *key: str) -> Any:
    """Make a client once, as a bot does."""
    if key not in _MADE:
        _MADE[key] = make()
    return _MADE[key]


async def openai(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by the `openai` package."""
    import openai as sdk

    client = _once(
        lambda: sdk.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0), "openai", url
    )
    if dialect == "responses":
        async for event in await client.responses.create(model="m", input="Hi", stream=True):
            if event.type == "response.output_text.delta":
                yield event.delta
        return
    async for chunk in await client.chat.completions.create(model="m", messages=ASK, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


async def anthropic(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by the `anthropic` package."""
    del dialect
    import anthropic as sdk

    client = _once(lambda: sdk.AsyncAnthropic(api_key="k", base_url=url), "anthropic", url)
    stream = await client.messages.create(model="m", max_tokens=9, messages=ASK, stream=True)
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield event.delta.text


async def google_genai(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by the `google-genai` package."""
    del dialect
    from google import genai
    from google.genai import types

    client = _once(
        lambda: genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)),
        "google", url,
    )  # fmt: skip
    async for chunk in await client.aio.models.generate_content_stream(model="m", contents="Hi"):
        if chunk.text:
            yield chunk.text


_LITELLM = {"openai": "openai/m", "anthropic": "anthropic/claude-sonnet-4-5",
            "google": "gemini/m"}  # fmt: skip
_BASES = {"openai": "/v1", "anthropic": "", "google": "/v1beta"}


async def litellm(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by `litellm`."""
    import litellm as sdk

    base = url + _BASES[dialect]
    if dialect == "google":
        base += "/models/m"
    stream = await sdk.acompletion(
        model=_LITELLM[dialect], messages=ASK, stream=True, api_base=base, api_key="k"
    )
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


async def pydantic_ai(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by `pydantic-ai`."""
    agent = _once(lambda: _agent(url, dialect), "pydantic", url, dialect)
    async with agent.run_stream("Hi") as run:
        async for text in run.stream_text(delta=True, debounce_by=None):
            yield text


def _agent(url: str, dialect: str) -> Any:
    from pydantic_ai import Agent

    if dialect == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        # The client that it would make by itself is one that newer versions of `anthropic` refuse.
        client = AsyncAnthropic(api_key="k", base_url=url)
        return Agent(AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client)))
    if dialect == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return Agent(GoogleModel("m", provider=GoogleProvider(api_key="k", base_url=url)))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(api_key="k", base_url=f"{url}/v1")
    return Agent(OpenAIChatModel("m", provider=provider))


async def httpx_sse(url: str, dialect: str) -> AsyncIterator[str]:
    """Yield the text of a reply read by `httpx-sse` and the standard library's JSON."""
    del dialect
    import httpx
    import httpx_sse as sdk

    client = _once(lambda: httpx.AsyncClient(timeout=60), "httpx", url)
    async with sdk.aconnect_sse(
        client, "POST", f"{url}/v1/chat/completions", json={"stream": True}
    ) as source:
        async for event in source.aiter_sse():
            if event.data == "[DONE]":
                return
            if text := json.loads(event.data)["choices"][0]["delta"].get("content"):
                yield text


READERS: dict[str, Callable[[str, str], AsyncIterator[str]]] = {
    "openai": openai,
    "anthropic": anthropic,
    "google-genai": google_genai,
    "litellm": litellm,
    "pydantic-ai": pydantic_ai,
    "httpx-sse": httpx_sse,
}


async def ingest(url: str, path: str, dialect: str, peer: str) -> str:
    """Read one reply; return its text."""
    del path
    parts = []
    async for text in READERS[peer](url, dialect):
        parts.append(text)  # noqa: PERF401 - as a bot's loop would
    return "".join(parts)


async def concurrent(url: str, path: str, dialect: str, peer: str, streams: int) -> dict[str, Any]:
    """Read many replies at once."""
    return await many_streams(lambda: ingest(url, path, dialect, peer), streams)


async def stop(url: str, dialect: str, peer: str, after: int) -> dict[str, Any]:
    """Cancel the reading of a silent provider after so many chunks; return how long it took."""
    heard: list[str] = []
    silent = asyncio.Event()

    async def read() -> None:
        async for text in READERS[peer](url, dialect):
            heard.append(text)
            if len(heard) >= after:
                silent.set()

    task = asyncio.ensure_future(read())
    await asyncio.wait_for(silent.wait(), 10)
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    task.cancel()
    await asyncio.wait([task])
    return {"took_s": time.perf_counter() - began, "kept": len(heard)}


async def stall(url: str, dialect: str, peer: str, timeout_ms: int) -> dict[str, Any]:
    """Let a provider go silent; return how long the library waited for it, and what was heard."""
    heard: list[str] = []
    last = time.perf_counter()
    options = {"timeout": timeout_ms / 1000}
    try:
        async for text in _TIMED[peer](url, dialect, options):
            heard.append(text)
            last = time.perf_counter()
    except Exception as error:  # noqa: BLE001 - that it raises is what is measured
        name = type(error).__name__
    else:
        name = ""
    return {"took_s": time.perf_counter() - last, "kept": bool(heard), "raised": name}


async def _openai_timed(url: str, dialect: str, options: dict[str, float]) -> AsyncIterator[str]:
    del dialect
    import openai as sdk

    client = sdk.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, **options)
    async for chunk in await client.chat.completions.create(model="m", messages=ASK, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


async def _litellm_timed(url: str, dialect: str, options: dict[str, float]) -> AsyncIterator[str]:
    del dialect
    import litellm as sdk

    stream = await sdk.acompletion(
        model="openai/m", messages=ASK, stream=True, api_base=f"{url}/v1", api_key="k",
        max_retries=0, **options,
    )  # fmt: skip
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


_TIMED = {"openai": _openai_timed, "litellm": _litellm_timed}


def visible(text: str, cuts: list[list[int]], peer: str) -> list[str]:
    """Return what different ways to cut a text leave of it, as the library hides thoughts."""
    return different(text, cuts, _PARTS[peer])


def _pydantic_parts(chunks: list[str]) -> str:
    from pydantic_ai._parts_manager import ModelResponsePartsManager
    from pydantic_ai.messages import TextPart
    from pydantic_ai.models import ModelRequestParameters

    manager: Any = ModelResponsePartsManager(model_request_parameters=ModelRequestParameters())
    for chunk in chunks:
        list(
            manager.handle_text_delta(
                vendor_part_id="content", content=chunk, thinking_tags=("<think>", "</think>")
            )
        )
    return "".join(part.content for part in manager.get_parts() if isinstance(part, TextPart))


def _litellm_parts(chunks: list[str]) -> str:
    from litellm.llms.ollama.chat.transformation import OllamaChatCompletionResponseIterator

    iterator: Any = OllamaChatCompletionResponseIterator(
        streaming_response=iter(()), sync_stream=True
    )
    shown = []
    for chunk in chunks:
        message = {"role": "assistant", "content": chunk}
        made = iterator.chunk_parser(
            {"model": "m", "created_at": "", "message": message, "done": False}
        )
        shown.append(made.choices[0].delta.content or "")
    return "".join(shown)


_PARTS = {"pydantic-ai": _pydantic_parts, "litellm": _litellm_parts}
