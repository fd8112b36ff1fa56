"""Checks of the arguments of the client and the adapters, made before they are used.

Error messages never quote a key, a whole URL or the value of a header.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

from minamo.core.checks import is_seconds, shown
from minamo.core.redact import SECRET_RUN_MIN
from minamo.errors import BadRequest, BadSetting

# Discord's rule for command names, as far as characters and length go.
_COMMAND = re.compile(r"[-_'\w]{1,32}")


def check_kinds(given: Mapping[str, object], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse a setting whose value is not of its type."""
    for name, value in given.items():
        if not isinstance(value, kinds[name]):
            may = " or ".join(
                "None" if kind is type(None) else kind.__name__ for kind in kinds[name]
            )
            raise BadSetting(f"{name} must be {may}; it is {value!r}")


def check_seconds(name: str, value: object) -> None:
    """Refuse a value that is not a number of seconds, 0 or more."""
    if not is_seconds(value):
        raise BadSetting(f"{name} must be a number of seconds, 0 or more; it is {shown(value)}")


def check_command(value: object) -> None:
    """Refuse a command name that Discord would reject; None is allowed."""
    if value is None:
        return
    fine = isinstance(value, str) and _COMMAND.fullmatch(value) and value == value.lower()
    if not fine:
        raise BadSetting(
            f"stop_command must be the name of a command, up to 32 lower-case letters, digits, "
            f'- or _, such as "stop"; it is {value!r}'
        )


# HTTP's token, as far as header names need it.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
# Headers whose values are not secret and may appear in error messages.
_PUBLIC = frozenset((
    "accept", "accept-language", "anthropic-beta", "anthropic-version", "content-type",
    "http-referer", "openai-beta", "referer", "user-agent", "x-title",
))  # fmt: skip


def checked_url(url: object, *, allow_http: bool = False) -> str:
    """Return a base URL that may safely receive a key, without its trailing slash."""
    if not isinstance(url, str) or not url:
        raise BadRequest("base_url is missing")
    try:
        parts = urlsplit(url)
        port_ok = parts.port != 0
    except ValueError:
        raise BadRequest("base_url is not a URL") from None
    # Never quoted as a whole: users do put keys into URLs.
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise BadRequest("base_url must be http(s)://host/…")
    if any(char <= " " or char == "\x7f" for char in url):
        raise BadRequest("base_url has blanks or control characters in it")
    if parts.username is not None or parts.query or parts.fragment:
        raise BadRequest("base_url must not hold a user, a query or a fragment")
    if parts.scheme == "http" and not allow_http and not is_loopback(url):
        raise BadRequest(
            f"{parts.hostname}: plain http would show the key to everyone on the way; "
            "use https, or allow_http=True in a network that you trust"
        )
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Return whether a URL points at this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def checked_key(key: object) -> str:
    """Return a key that fits in a header.  Never quoted: it may be wrong by one letter only."""
    if not isinstance(key, str) or not key:
        raise BadRequest("api_key is missing")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadRequest("api_key has blanks, line ends or other characters that no key has")
    return key


def checked_model(model: object) -> str:
    """Return *model* if it is a printable name of at most 256 characters."""
    if not isinstance(model, str) or not model.strip():
        raise BadRequest("model is missing")
    if not model.isprintable() or len(model) > 256:
        raise BadRequest("model is not a name: it must be one line of at most 256 characters")
    return model


def checked_headers(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return the caller's own headers if their names and values can be sent."""
    if not isinstance(headers, Mapping):
        raise BadRequest(f"headers must map names to text; it is a {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadRequest(f"headers: {shown(name)} is no name of a header")
        # The value is not quoted: it may be a key.
        if not isinstance(value, str):
            kind = type(value).__name__
            raise BadRequest(f"header {name!r} must be text, and is a {kind}; write it in quotes")
        if not value.isprintable() or not value.isascii():
            raise BadRequest(f"header {name!r} cannot be sent: it has characters that none has")
    return dict(headers)


def secrets_of(key: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the strings to redact: the key, and the caller's headers that are not public."""
    own = [value for name, value in headers.items() if name.lower() not in _PUBLIC]
    # In `Bearer …` only the second word is secret; the first occurs in many error messages.
    words = [word for value in (key, *own) for word in value.split()]
    # Shorter ones would redact ordinary words.  In a URL some characters are escaped.
    found = [word for word in words if len(word) >= SECRET_RUN_MIN]
    return tuple(dict.fromkeys([*found, *map(quote_plus, found)]))
