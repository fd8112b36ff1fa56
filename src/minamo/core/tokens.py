"""What Discord shows as one thing: mentions, emoji, timestamps, commands, links."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"<(?:@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::[a-zA-Z])?|/[^\s<>:][^<>:\n]{0,100}:\d+"
    r"|id:[a-z-]+(?::\d+)?|\d+:[a-z-]+(?::\d+)?|[A-Za-z][A-Za-z0-9+.\-]*:/[^\s<>]+)>"
)
_URL = re.compile(r"https?://[^\s<]+[^<.,:;\"')\]\s]")
_LINK = re.compile(
    r"\[[^\[\]\n]+\]\(<?[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*>?"
    r"(?: +(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"
)
_AT = {"<": _TOKEN, "[": _LINK, "h": _URL}


def token_end(text: str, start: int, end: int) -> int | None:
    """Where the token that begins at *start* ends, if one does; nothing beyond *end* counts."""
    token = _AT[text[start]].match(text, start, end)
    return token.end() if token else None
