"""What must be true of every request that minamo's own senders make, whatever a test is about.

`Overseer` is told of every twin that a test starts, and looks at all of them when it is over: at
each request in their journals, at whose bell rang, and at all that was logged meanwhile.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from attrs import define, field

from minamo.twin import CALLBACK, CREATE, EDIT, EXECUTE, Twin
from minamo.twin.journal import RequestEntry

CONTENT_MAX = 2_000
_EDIT_WEBHOOK = "PATCH /webhooks/{webhook}/{token}/messages/{message}"
_FILL = "PATCH /webhooks/{webhook}/{token}/messages/@original"
_SPEAKING = frozenset({CREATE, EDIT, EXECUTE, _EDIT_WEBHOOK, _FILL, CALLBACK})
# Answers to an interaction that say something: a new message, and a change of one.
_CALLBACKS_THAT_SPEAK = (4, 7)
# As Discord reads it: a form that only Discord accepts would hide its target as well.
_MASKED = re.compile(r"\]\(\s*<?https?:", re.IGNORECASE)
# The zero-width space is ours where it keeps two marks apart, and nowhere else.
_INVISIBLE = re.compile(
    "[\u00ad\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|(?<![|`\\\\])\u200b(?![|`])"
)
_SUPPRESS_EMBEDS = 1 << 2
# A token shorter than this is a word.
_SECRET_MIN = 8

_OURS = ("minamo.shell", "minamo.bot", "support.lanes", "support.bot")


def uses_ours(module: ModuleType) -> bool:
    """Whether the tests of a module send through minamo, and not through bare hikari only."""
    homes = {
        one.__name__ if isinstance(one, ModuleType) else str(getattr(one, "__module__", ""))
        for one in vars(module).values()
    }
    return any(home == ours or home.startswith(f"{ours}.") for home in homes for ours in _OURS)


def _said(request: RequestEntry) -> dict[str, Any] | None:
    """What a request says in a channel; None if it says nothing, or never arrived."""
    body = request.body
    if request.name not in _SPEAKING or not isinstance(body, dict):
        return None
    if request.name != CALLBACK:
        return body
    return body.get("data") or {} if body.get("type") in _CALLBACKS_THAT_SPEAK else None


def _wrong(said: dict[str, Any]) -> Iterator[str]:
    content = said.get("content")
    if isinstance(content, str) and len(content) > CONTENT_MAX:
        yield f"content of {len(content)} characters"
    allowed = said.get("allowed_mentions")
    if not isinstance(allowed, dict) or "parse" not in allowed:
        yield "no explicit allowed_mentions"
    elif allowed["parse"]:
        yield f"everybody in the text may be rung: {allowed['parse']}"


def wrongs(twin: Twin) -> list[str]:
    """What was wrong with the requests that a twin saw, and who was rung without being named."""
    found: list[str] = []
    named: set[int] = set()
    replied_to: set[int] = set()
    for request in twin.journal.requests():
        said = _said(request)
        if said is None:
            continue
        found += [f"{request.method} {request.path}: {words}" for words in _wrong(said)]
        allowed = said.get("allowed_mentions") or {}
        named.update(int(one) for kind in ("users", "roles") for one in allowed.get(kind) or ())
        if allowed.get("replied_user"):
            replied_to.add(int((said.get("message_reference") or {}).get("message_id", 0)))
    every = [one for some in twin.world.messages.values() for one in some.values()]
    named.update(one.author.id for one in every if one.id in replied_to)
    for message in every:
        rung = {*message.pinged, *message.pinged_roles} - named
        rung |= {*message.mentions, *message.mention_roles} - named  # by an edit, in silence
        everyone = message.pinged_everyone or message.mention_everyone
        if message.author.is_bot and (rung or everyone):
            found.append(f"message {message.id} rang for {sorted(rung) or 'everyone'}")
    return found


def _shown(said: dict[str, Any]) -> Iterator[str]:
    """Every text of a body that people read."""
    yield str(said.get("content") or "")
    for embed in said.get("embeds") or ():
        yield str(embed.get("title") or "")
        yield str(embed.get("description") or "")


def hidden(twin: Twin, *, previews: bool = False) -> list[str]:
    """What the requests that a twin saw hide from people, or tell others by being previewed."""
    found: list[str] = []
    for request in twin.journal.requests():
        said = _said(request)
        for text in _shown(said or {}):
            found += [f"{request.name}: a masked link: {text!r}"] * bool(_MASKED.search(text))
            found += [f"{request.name}: invisible: {text!r}"] * bool(_INVISIBLE.search(text))
        has_text = said is not None and bool(said.get("content"))
        flags = int((said or {}).get("flags") or 0)
        if has_text and not previews and not flags & _SUPPRESS_EMBEDS:
            found.append(f"{request.name}: with previews")
    every = [one for some in twin.world.messages.values() for one in some.values()]
    for data in [data for one in every if one.author.is_bot for data in one.files.values()]:
        text = data.decode()
        if _MASKED.search(text) or _INVISIBLE.search(text):
            found.append(f"a file: {text!r}")
    return found


@define(eq=False)
class Overseer:
    """Watches one test."""

    twins: list[Twin] = field(factory=list)
    _leaks: dict[str, None] = field(factory=dict)
    _secrets: set[str] = field(factory=set, repr=False)

    def hear(self, record: logging.LogRecord) -> None:
        """Look for a token in what is logged, at whatever level."""
        said = f"{record.getMessage()} {record.exc_info} {record.__dict__}"
        if any(secret in said for secret in self._known()):
            self._leaks[f"a token was logged: {record.name}, {record.levelname}"] = None

    def _known(self) -> set[str]:
        # Gathered as we go: a webhook that is deleted takes its token with it.
        for twin in self.twins:
            world = twin.world
            tokens = [one.token for one in world.webhooks.values()]
            tokens += [one.token for one in world.interactions.values()]
            self._secrets.update(one for one in (twin.token, *tokens) if len(one) >= _SECRET_MIN)
        return self._secrets

    @property
    def wrongs(self) -> list[str]:
        """All that was wrong."""
        return [*self._leaks, *(words for twin in self.twins for words in wrongs(twin))]


class _Ear(logging.Handler):
    def __init__(self, overseer: Overseer) -> None:
        super().__init__(level=1)
        self._overseer = overseer

    def emit(self, record: logging.LogRecord) -> None:
        self._overseer.hear(record)


@contextmanager
def overseeing() -> Iterator[Overseer]:
    """Watch every twin that is started inside, and every logger."""
    overseer = Overseer()
    root, enter = logging.getLogger(), Twin.__aenter__
    level, ear = root.level, _Ear(overseer)
    # A test of `minamo run` in this process leaves a level behind that would hide leaks.
    hikari, hikari_level = logging.getLogger("hikari"), logging.getLogger("hikari").level

    async def watched(twin: Twin) -> Twin:
        overseer.twins.append(twin)
        return await enter(twin)

    Twin.__aenter__ = watched  # type: ignore[method-assign]
    root.addHandler(ear)
    root.setLevel(1)
    hikari.setLevel(logging.NOTSET)
    try:
        yield overseer
    finally:
        Twin.__aenter__ = enter  # type: ignore[method-assign]
        root.removeHandler(ear)
        root.setLevel(level)
        hikari.setLevel(hikari_level)


@pytest.fixture(autouse=True)
def overseen(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check every request of a test that uses minamo's senders.

    A folder takes part by importing this fixture in its conftest.
    """
    if not uses_ours(request.module) or request.node.get_closest_marker("rule_breaking"):
        yield
        return
    with overseeing() as overseer:
        yield
    assert not overseer.wrongs, "\n".join(overseer.wrongs[:20])
