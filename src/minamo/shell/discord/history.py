"""What was said before: the chain of replies that a message stands at the end of.

Bounded in every way: so many messages, so many characters, so many pictures.  What cannot be
fetched ends the chain; a conversation with a shorter memory is still one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import hikari
from attrs import define, field, frozen

from minamo.errors import BadRequest
from minamo.shell.discord.calls import Calls
from minamo.shell.discord.targets import name_of
from minamo.wire.conversation import Message, assistant, user
from minamo.wire.images import Image
from minamo.wire.limits import IMAGE_BYTES_MAX

T = TypeVar("T")

_MENTION = re.compile(r"<@!?(\d+)>")
# What stands before the reply of a persona, which cannot reply by itself.
_NOTICE = re.compile(r"-# ↪ \S*/channels/(?:\d+|@me)/\d+/(\d+)")


@frozen(kw_only=True)
class Memory:
    """How much of a conversation is remembered."""

    messages_max: int = 24
    """A dozen questions with their answers."""
    characters_max: int = 24_000
    """Some six thousand tokens."""
    images_max: int = 4
    """Each costs a provider as much as a page of text."""


@define(eq=False)
class Chain:
    """Walks back from a message."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _me: int
    _memory: Memory
    _calls: Calls = field(factory=Calls, repr=False)

    async def walk(self, last: hikari.Message) -> list[hikari.PartialMessage]:
        """The messages of the conversation, oldest first."""
        found: list[hikari.PartialMessage] = [last]
        left = self._memory.characters_max - len(last.content or "")
        at: hikari.PartialMessage | None = last
        while at is not None and len(found) < self._memory.messages_max:
            at = await self._before(at)
            if at is None or (left := left - len(at.content or "")) < 0:
                break
            found.append(at)
        return found[::-1]

    async def _before(self, message: hikari.PartialMessage) -> hikari.PartialMessage | None:
        if (answered := _noticed(message)) is not None and self._is_mine(message):
            return await self._fetch(message.channel_id, hikari.Snowflake(answered))
        reference = message.message_reference
        if reference and reference.id:
            known = getattr(message, "referenced_message", None)
            if known:
                return await self._whole(known, message.channel_id)
            return await self._fetch(message.channel_id, reference.id)
        if self._is_mine(message):
            return await self._sibling(message)
        return None

    async def _whole(
        self, known: hikari.PartialMessage, channel_id: hikari.Snowflake
    ) -> hikari.PartialMessage | None:
        # What comes along with a reply is one level deep: it does not tell what it answers.
        if known.message_reference and not getattr(known, "referenced_message", None):
            return await self._fetch(channel_id, known.id) or known
        return known

    async def _sibling(self, message: hikari.PartialMessage) -> hikari.PartialMessage | None:
        """The message of ours right before: a long reply has several, and the first answers."""

        async def page() -> Sequence[hikari.Message]:
            before = self._rest.fetch_messages(message.channel_id, before=message.id)
            return await before.limit(1)

        found = await self._ask(page())
        return found[0] if found and self._is_mine(found[0]) else None

    async def _fetch(
        self, channel_id: hikari.Snowflake, message_id: hikari.Snowflake
    ) -> hikari.PartialMessage | None:
        return await self._ask(self._rest.fetch_message(channel_id, message_id))

    def _is_mine(self, message: hikari.PartialMessage) -> bool:
        author = message.author
        if isinstance(author, hikari.User) and int(author.id) == self._me:
            return True
        # A persona of ours: a bot's application has the bot's id.
        return bool(message.webhook_id) and int(message.application_id or 0) == self._me

    async def _ask(self, call: Awaitable[T]) -> T | None:
        # Never cancelled, as every call to hikari (see shell/discord/calls.py).
        found: list[T] = []

        async def look() -> None:
            found.append(await call)

        await self._calls.make(look())
        return found[0] if found else None

    async def read(self, messages: Sequence[hikari.PartialMessage]) -> list[Message]:
        """The messages as a provider understands them; the newest pictures are looked at."""
        told: list[Message] = []
        pictures = self._memory.images_max
        for message in reversed(messages):
            images = await self._images(message, pictures)
            pictures -= len(images)
            text = plain_text(message, self._me)
            if self._is_mine(message):
                if text and _noticed(message) is None:
                    told.append(assistant(text))
            elif text or images:
                told.append(user(text, name=name_of(message), images=images))
        return _joined(told[::-1])

    async def _images(self, message: hikari.PartialMessage, most: int) -> list[Image]:
        shown: list[Image] = []
        for one in message.attachments or ():
            is_picture = (one.media_type or "").startswith("image/")
            if not is_picture or one.size > IMAGE_BYTES_MAX or len(shown) >= most:
                continue
            data = await self._ask(one.read())
            try:
                shown.append(Image(data or b""))
            except BadRequest:
                continue  # not a picture that providers take
        return shown


def _noticed(message: hikari.PartialMessage) -> int | None:
    """What a persona's notice says it answers; None if it is no notice."""
    found = _NOTICE.match(message.content or "")
    return None if found is None else int(found[1])


def plain_text(message: hikari.PartialMessage, me: int) -> str:
    """The words of a message, with people's names for their ids and without our own mention."""
    known = message.user_mentions or {}

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        if number == me:
            return ""
        person = known.get(hikari.Snowflake(number))
        return match[0] if person is None else f"@{person.global_name or person.username}"

    return _MENTION.sub(named, message.content or "").strip()


def _joined(messages: list[Message]) -> list[Message]:
    """The parts of one long reply as one message, as the model said it."""
    out: list[Message] = []
    for one in messages:
        if out and one.role == out[-1].role == "assistant":
            out[-1] = assistant(f"{out[-1].text}\n\n{one.text}")
        else:
            out.append(one)
    while out and out[0].role == "assistant":  # a conversation begins with a person
        out.pop(0)
    return out
