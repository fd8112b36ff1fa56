"""Conversion of a provider's HTTP status or error object to an `ErrorChunk`.

Messages are neither redacted nor shortened here: `minamo.wire.assembler` knows the keys and does
both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from minamo.core.chunks import RETRY_AFTER_MAX_S, ErrorChunk, ErrorKind
from minamo.wire.json import decode

_ANY = msgspec.json.Decoder(Any)
_STATUSES: dict[int, tuple[ErrorKind, bool]] = {
    408: ("timeout", True),
    429: ("rate_limit", True),
    498: ("provider_overloaded", True),  # Groq's own: no capacity
    500: ("model_error", True),
    503: ("provider_overloaded", True),
    504: ("timeout", True),
    529: ("provider_overloaded", True),  # Anthropic's own
}
_CODES = {401: "bad_key", 403: "bad_key", 404: "not_found"}
# Gemini answers 400 for a wrong key, with this reason in the details.
_GEMINI_BAD_KEY = b"API_KEY_INVALID"
# Substrings of the codes and types of error objects; the first match wins.  Messages are not
# searched: one may mention timeouts without being a timeout.
_WORDS: tuple[tuple[str, ErrorKind, bool], ...] = (
    ("content_filter", "content_blocked", False),
    ("content_policy", "content_blocked", False),
    ("moderation", "content_blocked", False),
    ("safety", "content_blocked", False),
    ("invalid_prompt", "content_blocked", False),  # OpenAI's code for a flagged prompt
    ("insufficient_quota", "rate_limit", False),  # out of credit: waiting does not help
    ("rate_limit", "rate_limit", True),
    ("resource_exhausted", "rate_limit", True),
    ("too_many_requests", "rate_limit", True),
    ("overloaded", "provider_overloaded", True),
    ("unavailable", "provider_overloaded", True),
    ("capacity", "provider_overloaded", True),
    ("timeout", "timeout", True),
    ("timed_out", "timeout", True),
    ("deadline", "timeout", True),
    ("server_error", "model_error", True),
    ("internal", "model_error", True),
    ("api_error", "api_error", True),
)


def from_status(
    status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> ErrorChunk:
    """Return the error for a response whose status is not 200."""
    if 300 <= status < 400:
        return ErrorChunk(
            "api_error", "the provider redirects elsewhere; not followed", status=status
        )
    kind, retryable = _STATUSES.get(status, ("api_error", status >= 500))
    found = decode(_ANY, body)
    failure = from_object(_plain_words(body) if found is None else found)
    if failure.kind == "content_blocked" or (status == 429 and failure.kind == "rate_limit"):
        kind, retryable = failure.kind, failure.retryable
    after = retry_after(headers or {})
    return ErrorChunk(
        kind,
        failure.message or f"HTTP {status}",
        retryable,
        after if after is not None else failure.retry_after,
        status,
        code="bad_key" if _GEMINI_BAD_KEY in body else _CODES.get(status, ""),
    )


def from_object(found: Any) -> ErrorChunk:
    """Return the error for an error object in any known form, also within an HTTP 200 stream."""
    if isinstance(found, list) and found:
        found = found[0]  # Gemini without SSE sends it in a list
    inner = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(inner, list | str):
        return ErrorChunk("api_error", _words(inner).strip())
    if not isinstance(inner, dict):
        return ErrorChunk("api_error", _words(found).strip())
    codes = [inner.get(key) for key in ("code", "type", "status")]
    kind, retryable = _judge(codes)
    metadata = inner.get("metadata")
    if isinstance(metadata, dict) and "flagged_input" in metadata:  # OpenRouter's moderation
        kind, retryable = "content_blocked", False
    message = _words(inner)
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        # OpenRouter's own words are the same for every failure of a provider behind it.
        message = f"{message}: {metadata['raw']}"
    named = next((code for code in codes if isinstance(code, str) and code), "")
    return ErrorChunk(kind, (message or named).strip(), retryable, _google_delay(inner))


# Fields that hold the words of an error, on one server or another, best first.
_WORDS_IN = ("message", "detail", "msg", "error_msg", "error_message", "error_description",
             "errors", "error", "reason", "title")  # fmt: skip
_DEPTH_MAX = 4
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,300})</title>", re.IGNORECASE)
# A short answer in plain text is a message; a longer one is a page or a log.
_PLAIN_BYTES_MAX = 1_000


def _words(found: Any, depth: int = 0) -> str:
    """Return the message in an error body: a text, or the first one in its usual fields."""
    if isinstance(found, str):
        return found
    if depth == _DEPTH_MAX:
        return ""
    if isinstance(found, list):
        return "; ".join(words for item in found[:3] if (words := _words(item, depth + 1)))
    if not isinstance(found, dict):
        return ""
    texts = (_words(found.get(name), depth + 1) for name in _WORDS_IN)
    return next((text for text in texts if text.strip()), "")


def _plain_words(body: bytes) -> str:
    """Return the words of a body that is not JSON: a line of text, or the title of a page."""
    if title := _TITLE.search(body):
        return title[1].decode("utf-8", "replace")
    if len(body) > _PLAIN_BYTES_MAX or body.lstrip().startswith((b"<", b"{", b"[", b"null")):
        return ""
    return body.decode("utf-8", "replace")


def _judge(codes: list[Any]) -> tuple[ErrorKind, bool]:
    words = " ".join(code for code in codes if isinstance(code, str)).lower()
    named = next(((kind, again) for word, kind, again in _WORDS if word in words), None)
    if named is not None and named[0] == "content_blocked":
        return named  # Azure sends it with a status of 400, which is less specific
    for code in codes:
        number = int(code) if isinstance(code, str) and re.fullmatch(r"[1-5]\d\d", code) else code
        if isinstance(number, int) and 400 <= number < 600:
            return _STATUSES.get(number, ("api_error", number >= 500))
    return named or ("api_error", False)


def _google_delay(inner: dict[str, Any]) -> float | None:
    """Return the seconds of ``retryDelay: "34s"`` in the details of a Google error."""
    details = inner.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _seconds(delay[:-1])
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from milliseconds, seconds, or a date by the server's clock."""
    lower = {name.lower(): value for name, value in headers.items()}
    thousandths = _seconds(lower.get("retry-after-ms", ""))
    if thousandths is not None:
        return thousandths / 1_000
    value = lower.get("retry-after", "")
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    try:
        then, now = parsedate_to_datetime(value), parsedate_to_datetime(lower.get("date", ""))
        return _seconds(str((then - now).total_seconds()))
    except (TypeError, ValueError, OverflowError):
        return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(value, 0.0), RETRY_AFTER_MAX_S) if math.isfinite(value) else None
