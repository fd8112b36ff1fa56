"""Checks of a provider: its list of models, which costs nothing, and a trial of each model.

A list of models shows that the key is right; only a request shows what a model refuses: an option,
a system prompt, streaming, tools.  The trial (`minamo doctor --try`) makes one streamed reply and
one tool call, as the bot asks.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

import anyio
from attrs import define, field, frozen

from minamo.bot.doctor_discord import Diagnosis, ok, problem, warning
from minamo.bot.factory import home_of, make_provider, with_options
from minamo.bot.settings import ProviderSettings, Settings
from minamo.core.chunks import Chunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.redact import shorten
from minamo.errors import BadSetting, MinamoError
from minamo.shell.providers.http import Http, Timeouts
from minamo.shell.providers.scripted import as_chunks
from minamo.shell.turns.turn import ChatProvider
from minamo.wire.conversation import ChatMessage, system, user
from minamo.wire.frames import HttpRequest
from minamo.wire.options import Tool

# The start of the bot waits no longer than this for a provider.
PROBE_S = 8.0
# Some routers have long lists; a longer one is not read.
_LIST_BYTES_MAX = 4 << 20

_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")

Verdict = Literal["fine", "refused", "no_model", "unreachable", "unclear"]


@frozen
class Probed:
    """The result of a probe."""

    verdict: Verdict
    words: str
    """Message for people; never contains a key."""


async def probe(provider: ProviderSettings, within_s: float = PROBE_S) -> Probed:
    """Request the list of models from *provider* and return the verdict."""
    base = home_of(provider).rstrip("/")
    name = f"{provider.kind} ({base.split('://', 1)[-1].split('/', 1)[0]})"
    http = Http(base, Timeouts(connect_s=within_s, first_byte_s=within_s, read_s=within_s))
    answer: bytes | ErrorChunk = ErrorChunk("timeout")
    try:
        with anyio.move_on_after(within_s):
            answer = await _read(http, _request(provider, base))
    finally:
        await http.close()
    if isinstance(answer, ErrorChunk):
        return _failed(answer, name)
    models = _models(answer)
    if models and provider.model and not _known(provider.model, models):
        return Probed(
            "no_model", f"{name} has no model {provider.model!r}: check MINAMO_MODEL or `model`"
        )
    return Probed(
        "fine", f"{name} takes the key" if provider.api_key else f"{name} answers, without a key"
    )


def _request(provider: ProviderSettings, base: str) -> HttpRequest:
    if provider.kind == "openai":
        headers = {"Authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}
        return HttpRequest(f"{base}/models", headers, method="GET")
    if provider.kind == "gemini":
        at = base if _VERSION.search(base) else f"{base}/v1beta"
        headers = {"x-goog-api-key": provider.api_key or "none"}
        return HttpRequest(f"{at}/models?pageSize=1000", headers, method="GET")
    at = base if _VERSION.search(base) else f"{base}/v1"
    headers = {"x-api-key": provider.api_key or "none", "anthropic-version": "2023-06-01"}
    return HttpRequest(f"{at}/models?limit=1000", headers, method="GET")


async def _read(http: Http, request: HttpRequest) -> bytes | ErrorChunk:
    body = b""
    async with aclosing(http.send(request)) as answer:
        async for data in answer:
            if isinstance(data, ErrorChunk):
                return data
            body += data
            if len(body) > _LIST_BYTES_MAX:
                return b""
    return body


def _failed(error: ErrorChunk, name: str) -> Probed:
    if error.status in (401, 403) or _is_bad_key(error):
        return Probed("refused", f"{name} does not accept the key: check it and set it again")
    if error.status is None:
        return Probed(
            "unreachable", f"{name} cannot be reached: is it online, and is this machine?"
        )
    return Probed("unclear", f"{name} answers, but does not list its models ({error.status})")


def _is_bad_key(error: ErrorChunk) -> bool:
    # Gemini answers 400 for an unknown key.
    return error.status == 400 and "api key" in error.message.lower()


def _models(body: bytes) -> list[str]:
    try:
        found = json.loads(body)
        listed = found.get("data") or found.get("models") or []
        return [str(entry.get("id") or entry.get("name")) for entry in listed]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def _known(model: str, models: list[str]) -> bool:
    plain = model.removeprefix("models/")
    # Tags and dates after a name are often optional: `llama3` and `llama3:latest`.
    return any(known.removeprefix("models/").startswith(plain) for known in models)


# A model that loads first, or thinks first, takes its time; a slower one is no use in a chat.
TRY_S = 60.0
_QUESTION = "Answer with the single word: ready"
_TOOL_QUESTION = "Call the tool `lamp_state`, and tell me what it says."
_TOOL = Tool("lamp_state", "Return whether the lamp in the hall is on.")
_QUOTE_MAX = 200

# What an error's words point to, and the remedy; the first match counts.
_REMEDIES: Sequence[tuple[str, str]] = (
    (r"\bstream", "choose a model, or an account, that may stream"),
    (r"\b(tool|function)s?\b", "set tools = [] in [bot], or choose a model that takes tools"),
    (r"\bsystem\b|developer instruction", "empty system_prompt, or choose another model"),
    (r"\bimage|vision", "choose a model that takes pictures"),
    (r"context|too long|maximum.{0,20}tokens", "choose a model with a longer context"),
)
_BY_CODE: Mapping[str, str] = {
    "bad_key": "check the key, and what it may be used for",
    "not_found": "check `model` and `base_url`",
    "unreachable": "check `base_url`, and whether the server runs",
}
_BY_KIND: Mapping[str, str] = {
    "rate_limit": "wait, or look at the quota and the credit of the account",
    "provider_overloaded": "try again later, or add a second [[provider]]",
    "timeout": "try again; a model that loads first may need several minutes",
    "content_blocked": "the provider's filter refuses even this question; choose another model",
}


@define
class Trial:
    """What one request brought."""

    text: str = field(default="", repr=False)
    calls: tuple[str, ...] = ()
    error: ErrorChunk | None = None
    first_s: float | None = None

    def take(self, chunk: Chunk, after_s: float) -> None:
        """Record one chunk."""
        if self.first_s is None:
            self.first_s = after_s
        if isinstance(chunk, TextChunk):
            self.text += chunk.content
        elif isinstance(chunk, FunctionCall):
            self.calls = tuple(call.name for call in chunk.calls)
        elif isinstance(chunk, ErrorChunk):
            self.error = chunk


async def try_provider(
    provider: ProviderSettings, number: int, settings: Settings
) -> list[Diagnosis]:
    """Ask the model of *provider* twice and return a line for each answer."""
    try:
        adapter = make_provider(provider, number)
    except BadSetting:
        return []  # the check of the provider reports it
    async with adapter:
        model = with_options(adapter, provider)
        name = f"{provider.kind} {provider.model}"
        answer = await _ask(model, _messages(settings, _QUESTION))
        if answer.error is not None:
            return [problem("model", f"{name}: {_refusal(answer.error, provider)}")]
        found = [_streamed(name, answer)]
        if settings.bot.tools or settings.bot.tools_file:
            called = await _ask(model, _messages(settings, _TOOL_QUESTION), tools=[_TOOL])
            found.append(_called(name, called, provider))
        return found


def _messages(settings: Settings, question: str) -> list[ChatMessage]:
    prompt = settings.bot.system_prompt
    return [*([system(prompt)] if prompt.strip() else []), user(question)]


async def _ask(model: ChatProvider, messages: list[ChatMessage], **options: Any) -> Trial:
    trial, began = Trial(), time.monotonic()
    try:
        source = model.chat(messages, **options)
    except MinamoError as error:
        trial.error = ErrorChunk("api_error", str(error))
        return trial
    async with aclosing(as_chunks(source)) as chunks:
        async for chunk in chunks:
            trial.take(chunk, time.monotonic() - began)
    return trial


def _streamed(name: str, answer: Trial) -> Diagnosis:
    if not answer.text.strip():
        return warning(
            "model", f"{name} answered without text: a limit such as max_tokens may be too small"
        )
    return ok("model", f"{name} streams; the first word came after {answer.first_s or 0:.1f} s")


def _called(name: str, called: Trial, provider: ProviderSettings) -> Diagnosis:
    if called.error is not None:
        return problem("model", f"{name}, with tools: {_refusal(called.error, provider)}")
    if _TOOL.name in called.calls:
        return ok("model", f"{name} calls tools")
    return warning(
        "model", f"{name} did not call a tool when asked to: it may not be made for tools"
    )


def _refusal(error: ErrorChunk, provider: ProviderSettings) -> str:
    """Return the provider's words and what to change, on one line."""
    words = shorten(
        error.message or error.kind, _QUOTE_MAX, [provider.api_key] if provider.api_key else []
    )
    return f"{words}: {_remedy(error, provider)}"


def _remedy(error: ErrorChunk, provider: ProviderSettings) -> str:
    text = error.message.lower()
    for option in provider.options:
        if re.search(rf"\b{re.escape(option.lower())}\b", text):
            return f"change or remove `{option}` in [provider.options]"
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    if error.kind in _BY_KIND:
        return _BY_KIND[error.kind]
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, text):
            return remedy
    return "look it up in the documentation of the provider"
