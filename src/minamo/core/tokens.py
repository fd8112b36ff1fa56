"""What Discord shows as one thing: mentions, emoji, timestamps, commands, links."""

from __future__ import annotations

import re

from minamo.core.limits import LINK_BEGUN_MAX

_TOKEN = re.compile(
    r"<(?:@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::[a-zA-Z])?|/[^\s<>:][^<>:\n]{0,100}:\d+"
    r"|id:[a-z-]+(?::\d+)?|\d+:[a-z-]+(?::\d+)?|[A-Za-z][A-Za-z0-9+.\-]*:/[^\s<>]+)>"
)
_URL = re.compile(r"https?://[^\s<]+[^<.,:;\"')\]\s]")
_LINK = re.compile(
    r"\[[^\[\]\n]+\]\(<?[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*>?"
    r"(?: +(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"
)
_STARTS = re.compile(r"<|\[|https?://")
# Every stage of writing one, at the end of a text.
_TOKEN_BEGUN = re.compile(r"<(?:[@#:a-z\d][^\s<>]*|/(?:[^\s<>:][^<>:\n]{0,100}(?::\d*)?)?)?\Z")
_LINK_BEGUN = re.compile(
    r"\[[^\[\]\n]{0," + str(LINK_BEGUN_MAX) + r"}(?:\](?:\(\S*(?: +(?:\"[^\"\n]*|'[^'\n]*))?)?)?\Z"
)
_URL_BEGUN = re.compile(r"https?://\S*\Z")
_BEGUN = {"<": _TOKEN_BEGUN, "[": _LINK_BEGUN}
_AT = {"<": _TOKEN, "[": _LINK, "h": _URL}


def token_end(text: str, start: int, end: int) -> int | None:
    """Where the token that begins at *start* ends, if one does; nothing beyond *end* counts."""
    token = _AT[text[start]].match(text, start, end)
    return token.end() if token else None


def find_tokens(text: str) -> list[tuple[int, int]]:
    """Return where the tokens of *text* begin and end, in order."""
    found: list[tuple[int, int]] = []
    at = 0
    while start := _STARTS.search(text, at):
        end = token_end(text, start.start(), len(text))
        at = end or start.start() + 1
        if end is not None:
            found.append((start.start(), end))
    return found


def unfinished_tokens(text: str) -> list[int]:
    """Return where something begins that may become a token with what follows *text*."""
    starts = [text.rfind("<"), text.rfind("[")]
    ink = len(text)
    while ink and not text[ink - 1].isspace():
        ink -= 1
    url = _URL_BEGUN.search(text, ink)
    found = [at for at in starts if at >= 0 and _BEGUN[text[at]].match(text, at)]
    return [*found, url.start()] if url else found
