"""Access control for the live page: session cookie, Host check, same-origin check.

Three checks, because the page shows people's messages.  The address holds a random key, which is
exchanged for a session cookie that scripts and other sites cannot use, and from which the key
cannot be derived.  The requested host must be an IP address, `localhost` or a configured name, so
that no foreign name can be bound to this machine.  And a request that changes something must come
from the page itself.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from attrs import define, field

from minamo.errors import BadSetting

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SHUT = "Open the address with its key, as it was printed in the terminal."
_HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><title>minamo</title>'
_ENTERED = (
    f'{_HEAD}<meta http-equiv="refresh" content="0;url=/"><p><a href="/">minamo</a></p></html>'
)
# A key of this length cannot be guessed, even at the full request rate of the network.
KEY_LENGTH_MIN = 16
# Browsers request it on their own for any page; it reveals nothing.
ICON = "/favicon.ico"


@define(eq=False)
class AccessControl:
    """The access checks of one page."""

    key: str = field(repr=False)
    names: frozenset[str]
    """Host names under which the page is served, besides IP addresses and `localhost`."""
    port: int = 0
    _secret: bytes = field(init=False, repr=False)
    """Signs the sessions.  Made from the key: a page that stays open reconnects to a bot that is
    started again with the same key, and sessions end with their key."""

    def __attrs_post_init__(self) -> None:
        if len(str(self.key).strip()) < KEY_LENGTH_MIN:
            raise BadSetting(f"the key of the page must have {KEY_LENGTH_MIN} characters or more")
        given = str(self.key).encode("utf-8", "replace")
        self._secret = hashlib.scrypt(given, salt=b"minamo page sessions", n=2**12, r=8, p=1)

    @property
    def cookie(self) -> str:
        """Name of the cookie; it contains the port, because cookies are shared between ports."""
        return f"minamo_{self.port}"

    def middleware(self) -> Any:
        """Return the middleware that refuses requests and adds the headers to every response."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = self.refusal(request)
            if response is None:
                response = await _answer(request, handler)
            if not response.prepared:
                response.headers.update(HEADERS)
            return response

        return guard

    def refusal(self, request: web.Request) -> web.StreamResponse | None:
        """Return a refusal of *request*, or the cookie for its key; None if it may pass."""
        if not _is_text(request):
            return json_error(400, "the headers of that request are not UTF-8 text")
        name = _host_name(request.headers.get("Host", ""))
        if name is None or not (_is_address(name) or name == "localhost" or name in self.names):
            return json_error(403, "this page is not served under that name")
        if request.method != "GET" and not _same_origin(request):
            return json_error(403, "only the page itself may ask for that")
        if request.path == "/" and "key" in request.query:
            return self._exchange(request)
        if request.path != ICON and not self._is_session(request.cookies.get(self.cookie, "")):
            return _shut(request)
        return None

    def _exchange(self, request: web.Request) -> web.Response:
        if not _same(request.query["key"], self.key):
            return _shut(request)
        # Not a redirect: one that began on another site would arrive without the strict cookie.
        # A page that refreshes itself is its own origin, and leaves no key in the history.
        response = web.Response(text=_ENTERED, content_type="text/html")
        session = self._session(secrets.token_urlsafe(24))
        response.set_cookie(self.cookie, session, httponly=True, samesite="Strict", path="/")
        return response

    def _session(self, token: str) -> str:
        """Return a random *token* with our signature; no session has to be stored."""
        signed = hmac.new(self._secret, token.encode("utf-8", "replace"), hashlib.sha256)
        return f"{token}.{signed.hexdigest()}"

    def _is_session(self, given: str) -> bool:
        return _same(given, self._session(given.partition(".")[0]))


def json_error(status: int, words: str) -> web.Response:
    """Return an error response with a message as JSON."""
    return web.json_response({"error": words}, status=status)


def _shut(request: web.Request) -> web.Response:
    """Return the 403 response: JSON for a program, HTML for a browser."""
    if "text/html" not in request.headers.get("Accept", ""):
        return json_error(403, _SHUT)
    return web.Response(text=f"{_HEAD}<p>{_SHUT}</p></html>", status=403, content_type="text/html")


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return json_error(error.status, error.reason)


def _same(given: str, meant: str) -> bool:
    """Compare two strings in a time that does not reveal where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), meant.encode("utf-8", "replace"))


def _is_text(request: web.Request) -> bool:
    """Return whether all headers are UTF-8; aiohttp keeps other bytes as lone surrogates."""
    return all(is_unicode(value) for value in request.headers.values())


def is_unicode(text: str) -> bool:
    """Return whether *text* can be encoded as UTF-8."""
    with suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def _same_origin(request: web.Request) -> bool:
    with suppress(ValueError):
        origin = urlsplit(request.headers.get("Origin", ""))
        return origin.netloc != "" and origin.netloc == request.headers.get("Host", "")
    return False


def _host_name(host: str) -> str | None:
    with suppress(ValueError):
        return urlsplit(f"//{host}").hostname
    return None


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False
