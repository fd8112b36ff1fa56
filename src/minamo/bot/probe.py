"""Check of a provider's key and model by listing its models, which costs nothing."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from typing import Literal

import anyio
from attrs import frozen

from minamo.bot.factory import home_of
from minamo.bot.settings import ProviderSettings
from minamo.core.chunks import ErrorChunk
from minamo.shell.providers.http import Http, Timeouts
from minamo.wire.frames import HttpRequest

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


async def probe(one: ProviderSettings, within_s: float = PROBE_S) -> Probed:
    """Request the list of models from the provider of *one* and return the verdict."""
    base = home_of(one).rstrip("/")
    name = f"{one.kind} ({base.split('://', 1)[-1].split('/', 1)[0]})"
    http = Http(base, Timeouts(connect_s=within_s, first_byte_s=within_s, read_s=within_s))
    answer: bytes | ErrorChunk = ErrorChunk("timeout")
    try:
        with anyio.move_on_after(within_s):
            answer = await _read(http, _request(one, base))
    finally:
        await http.close()
    if isinstance(answer, ErrorChunk):
        return _failed(answer, name)
    models = _models(answer)
    if models and one.model and not _known(one.model, models):
        return Probed(
            "no_model", f"{name} has no model {one.model!r}: check MINAMO_MODEL or `model`"
        )
    return Probed(
        "fine", f"{name} takes the key" if one.api_key else f"{name} answers, without a key"
    )


def _request(one: ProviderSettings, base: str) -> HttpRequest:
    if one.kind == "openai":
        headers = {"Authorization": f"Bearer {one.api_key}"} if one.api_key else {}
        return HttpRequest(f"{base}/models", headers, method="GET")
    if one.kind == "gemini":
        at = base if _VERSION.search(base) else f"{base}/v1beta"
        headers = {"x-goog-api-key": one.api_key or "none"}
        return HttpRequest(f"{at}/models?pageSize=1000", headers, method="GET")
    at = base if _VERSION.search(base) else f"{base}/v1"
    headers = {"x-api-key": one.api_key or "none", "anthropic-version": "2023-06-01"}
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
        return [str(one.get("id") or one.get("name")) for one in listed]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def _known(model: str, models: list[str]) -> bool:
    plain = model.removeprefix("models/")
    # Tags and dates after a name are often optional: `llama3` and `llama3:latest`.
    return any(one.removeprefix("models/").startswith(plain) for one in models)
