"""Discord's refusals: the JSON error codes, each with its HTTP status and message.

Also `respond`, which builds every JSON response, and the exceptions for bad bodies and 429s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiohttp import web

# Discord's front end adds this header. discord.py treats a 429 without it as a ban.
_FRONT_END = {"Via": "1.1 google"}


def respond(
    status: int, body: Any = None, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return a JSON response, or an empty one if *body* is None.

    The content type has no charset: discord.py reads nothing else as JSON.
    """
    sent = {**_FRONT_END, **(headers or {})}
    if body is None:
        return web.Response(status=status, headers=sent)
    data = json.dumps(body).encode()
    return web.Response(status=status, headers=sent, body=data, content_type="application/json")


_CODES: dict[int, tuple[int, str]] = {
    0: (401, "401: Unauthorized"),
    10002: (404, "Unknown Application"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    20028: (429, "The write action you are performing on the channel has hit the write rate limit"),
    30003: (400, "Maximum number of pins reached (250)"),
    30007: (400, "Maximum number of webhooks reached (15)"),
    30010: (400, "Maximum number of reactions reached (20)"),
    30032: (400, "Maximum number of application commands reached (100)"),
    30046: (429, "Maximum number of edits to messages older than 1 hour reached. Try again later"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40094: (400, "This interaction has hit the maximum number of follow up messages"),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50021: (403, "Cannot execute action on a system message"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50034: (400, "A message provided was too old to bulk delete"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160002: (403, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (403, "Thread is locked"),
    160008: (400, "Message could not be found"),
    160011: (400, "Forward messages cannot have additional content"),
    160014: (403, "Cannot forward a message whose content you cannot read"),
    200000: (400, "Message was blocked by automatic moderation"),
    220003: (400, "Webhooks can only create threads in forum channels"),
    240000: (400, "Message blocked by harmful links filter"),
}


class Refused(Exception):
    """A request that Discord refuses: an HTTP answer for the bot, raised for user actions."""

    def __init__(
        self, code: int, *, errors: dict[str, Any] | None = None, status: int | None = None
    ) -> None:
        usual, message = _CODES[code]
        self.message: str = message
        self.status: int = status or usual
        super().__init__(f"{code} {self.message}")
        self.code = code
        self.errors = errors

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


class Invalid(Exception):
    """The problems of a body or a part of it, in the nested form of error 50035."""

    def __init__(self, code: str = "", message: str = "", *, at: str = "") -> None:
        super().__init__(code)
        self.errors: dict[str, Any] = {}
        if code:
            leaf = {"_errors": [{"code": code, "message": message}]}
            self.errors = _nested(at, leaf)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Collect under *name* the problems raised in the block."""
        try:
            yield
        except Invalid as found:
            self.errors[name] = found.errors

    def raise_if_any(self) -> None:
        """Raise this exception if problems were collected."""
        if self.errors:
            raise self


class SlowedDown(Exception):
    """A 429 from a rule other than the buckets: slow mode, edits of old messages, webhooks."""

    def __init__(self, retry_after_s: float, code: int | None = None, scope: str = "user") -> None:
        super().__init__(f"429 {code}")
        self.retry_after_s = retry_after_s
        self.code = code
        self.scope = scope
        self.message: str = _CODES[code][1] if code else "You are being rate limited."


def locked(*, archived: bool) -> Refused:
    """Return the refusal of a message in a locked thread; archival is reported first."""
    # 50083 is a 400 for changes in an archived thread and a 403 for messages in a locked one.
    return Refused(50083, status=403) if archived else Refused(160005)


def bad_form(path: str, code: str, message: str) -> Refused:
    """Return a 50035 that names the field; *path* is dotted, as in ``embeds.0.title``."""
    return Refused(50035, errors=Invalid(code, message, at=path).errors)


def _nested(path: str, leaf: dict[str, Any]) -> dict[str, Any]:
    for key in reversed(path.split(".") if path else []):
        leaf = {key: leaf}
    return leaf
