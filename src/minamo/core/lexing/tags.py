"""Tags that hide text, complete or unfinished; and the indent that a list allows a fence."""

from __future__ import annotations

import re

from attrs import frozen

from minamo.core.limits import TAG_MAX

# Any of the family opens or closes any other: models mix them.
_NAMES = {
    "think": "think",
    "thinking": "think",
    "thought": "think",
    "reasoning": "think",
    "details": "details",
}

# Blanks are allowed around everything but directly after `<` or `</`: "a < think" compares.
# Attributes may follow the name, one `prefix:` may precede it.
_TAG = re.compile(
    r"<(?P<close>/?)(?:[a-z][a-z0-9_.-]*:)?(?P<name>"
    + "|".join(sorted(_NAMES, key=len, reverse=True))
    + r")(?:[ \t\n]*|[ \t\n][^<>]*?)(?P<empty>/?)[ \t]*>",
    re.IGNORECASE,
)
# An unfinished tag: every stage of writing one from the left.
_UNFINISHED = re.compile(
    r"</?(?:(?P<word>[a-z][a-z0-9_.-]*)?(?::(?P<after>[a-z]*))?)"
    r"(?P<rest>[ \t\n/][^<>]*)?\Z",
    re.IGNORECASE,
)
_STARTS = frozenset(name[:end] for name in _NAMES for end in range(len(name) + 1))


@frozen(slots=True)
class Tag:
    """A complete tag: which family, and whether it opens, closes, or is empty (`<think/>`)."""

    family: str
    kind: str
    """``opened``, ``closed`` or ``empty``."""
    end: int
    """Offset just past it in the text it was found in."""


def tag_at(text: str, at: int) -> Tag | None:
    """Return the complete tag that begins at *at*, or None."""
    found = _TAG.match(text, at, at + TAG_MAX)
    if found is None:
        return None
    kind = "closed" if found["close"] else "empty" if found["empty"] else "opened"
    return Tag(_NAMES[found["name"].lower()], kind, found.end())


def may_become_tag(text: str, at: int) -> bool:
    """Return whether the rest of *text* from *at* on could be the beginning of a tag."""
    if len(text) - at >= TAG_MAX:
        return False
    found = _UNFINISHED.match(text, at)
    if found is None:
        return False
    word, after, rest = found["word"] or "", found["after"], found["rest"]
    name = (word if after is None else after).lower()
    if rest is not None:
        return name in _NAMES
    # Without a colon the word may yet turn out to be the prefix.
    return after is None or name in _STARTS
