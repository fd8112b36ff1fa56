"""What a person gives an adapter, checked when the adapter is made."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from minamo.errors import BadRequest


def checked_url(url: object, *, allow_http: bool = False) -> str:
    """A base URL that may be sent a key, without its trailing slash."""
    if not isinstance(url, str) or not url:
        raise BadRequest("base_url is missing")
    try:
        parts = urlsplit(url)
        port_ok = parts.port != 0
    except ValueError:
        raise BadRequest("base_url is not a URL") from None
    # Never quoted as a whole: people do put keys into URLs.
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
    """Whether a URL points at this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def checked_key(key: object) -> str:
    """A key that can stand in a header.  Never quoted: what is wrong with it may be one letter."""
    if not isinstance(key, str) or not key:
        raise BadRequest("api_key is missing")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadRequest("api_key has characters that no key has")
    return key


def checked_model(model: object) -> str:
    """A model's name."""
    if not isinstance(model, str) or not model.strip():
        raise BadRequest("model is missing")
    if not model.isprintable() or len(model) > 256:
        raise BadRequest("model is not a name")
    return model


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers of the caller's own."""
    for name, value in headers.items():
        if not name.replace("-", "").isalnum() or not value.isprintable() or not value.isascii():
            raise BadRequest(f"header {name!r} cannot be sent")
    return dict(headers)


def secrets_of(key: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must never be repeated: the key, and the caller's headers if they look like one."""
    # Shorter ones would blot out ordinary words.
    return tuple(value for value in (key, *headers.values()) if len(value) >= 8)
