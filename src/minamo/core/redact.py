"""Removal of secrets from text, always before it is shortened.

Some providers quote the key that they refuse.  A key cut in two by shortening no longer matches
the whole key, so all code that shortens foreign text calls `shorten`, which redacts first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[key]"
# A part of a secret of this length is removed as well: providers mask keys in the middle, and
# break them over lines.  Shorter parts occur in ordinary words.
SECRET_RUN_MIN = 8
# Extra input read for a shortened text, and the size of its tail that may hold part of a secret.
_MARGIN = 512
# Keys and tokens of known shape: of providers, of Discord's bots and webhooks, in headers and in
# server addresses.
_SHAPES = re.compile(
    r"""\b(?:sk|pk|rk|pplx|gsk|xai|ghp|gho|hf|csk)[-_][\w-]{16,}
    | \bAIza[\w-]{20,}
    | (?i:\b(?:bearer|basic)\ +)[\w.~+/=-]{16,}
    | \b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}
    | (?<=/webhooks/)\d{1,20}/[\w.=-]{16,} | (?<=/interactions/)\d{1,20}/[\w.=-]{16,}
    | (?<=://)[^\s/@:]{0,128}:[^\s/@]{1,256}@""",
    re.VERBOSE,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* without any part of *secrets*, and without anything shaped like a key."""
    for secret in secrets:
        text = _without(secret, text)
    return _SHAPES.sub(MARK, text)


def shorten(text: str, most: int, secrets: Iterable[str] = (), *, printable: bool = True) -> str:
    """Return *text* as one line of at most *most* characters, redacted before the cut.

    Control characters, which could hide a key from the patterns but not from a reader, are
    dropped; so are joiners, without which some emoji and scripts look different.  *printable*
    False keeps them.
    """
    window = text[: 4 * most + 2 * _MARGIN]
    line = " ".join(window.split())
    if printable:
        line = "".join(char for char in line if char.isprintable())
    line = redact(line, secrets)
    if len(window) < len(text):
        # The window may end with the beginning of a secret, too short to be recognised.
        line = line[:-_MARGIN]
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _without(secret: str, text: str) -> str:
    size = SECRET_RUN_MIN
    runs = {secret[at : at + size] for at in range(len(secret) - size + 1)}
    kept: list[str] = []
    done = at = 0
    while runs and at <= len(text) - size:
        end = at + size
        if text[at:end] not in runs:
            at += 1
            continue
        while text[end - size + 1 : end + 1] in runs:
            end += 1
        kept += text[done:at], MARK
        done = at = end
    return "".join(kept) + text[done:]
