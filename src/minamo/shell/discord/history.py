"""What was said before: the chain of replies that a message stands at the end of.

Bounded in every way: so many messages, so many characters, so many pictures, and in all no more
than a request to a provider may have.  What cannot be fetched ends the chain; a conversation with
a shorter memory is still one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import hikari
from attrs import define, field, frozen

from minamo.errors import BadRequest
from minamo.shell.discord.calls import CallRunner
from minamo.shell.discord.targets import name_of
from minamo.wire.conversation import ChatMessage, Image, assistant, user
from minamo.wire.limits import CONVERSATION_BYTES_MAX, IMAGE_BYTES_MAX
from minamo.wire.options import as_json

T = TypeVar("T")

# Around each message and each picture: braces, quotes and the names of fields.
_FORM_BYTES = 256

_MENTION = re.compile(r"<@!?(\d+)>")
# What stands before the reply of a persona, which cannot reply by itself.
_NOTICE = re.compile(r"-# ↪ \S*/channels/(?:\d+|@me)/\d+/(\d+)")


@frozen(kw_only=True)
class HistoryLimits:
    """How much of a conversation is remembered."""

    messages_max: int = 24
    """A dozen questions with their answers."""
    characters_max: int = 24_000
    """Some six thousand tokens."""
    images_max: int = 4
    """Each costs a provider as much as a page of text.  Where one is left out, a note says so."""


@define(eq=False)
class ReplyChain:
    """Walks back from a message."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _me: int
    _memory: HistoryLimits
    _calls: CallRunner = field(factory=CallRunner, repr=False)

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

    async def read(self, messages: Sequence[hikari.PartialMessage]) -> list[ChatMessage]:
        """The messages as a provider understands them; the newest pictures are looked at.

        All of them fit into one request: first the newest words, then the newest pictures.
        """
        texts: list[str] = []
        room = _Room(CONVERSATION_BYTES_MAX, self._memory.images_max)
        for message in reversed(messages):
            text = plain_text(message, self._me)
            if not room.take(len(as_json([text, name_of(message)]))) and texts:
                break
            texts.append(text)
        told: list[ChatMessage] = []
        for message, text in zip(reversed(messages), texts, strict=False):
            if self._is_mine(message):
                if text and _noticed(message) is None:
                    told.append(assistant(text))
                continue
            images, left_out = await self._images(message, room)
            said = "\n".join(filter(None, [text, _note(left_out)]))
            if said or images:
                told.append(user(said, name=name_of(message), images=images))
        return _joined(told[::-1])

    async def _images(self, message: hikari.PartialMessage, room: _Room) -> tuple[list[Image], int]:
        """The pictures of a message, and how many of them are left out."""
        pictures = [one for one in message.attachments or () if _is_picture(one)]
        shown: list[Image] = []
        for one in pictures:
            if one.size > IMAGE_BYTES_MAX or not room.has_for_image(one.size):
                continue
            data = await self._ask(one.read()) or b""
            try:
                image = Image(data)
            except BadRequest:
                continue  # not a picture that providers take
            if room.take_image(len(data)):
                shown.append(image)
        return shown, len(pictures) - len(shown)


@define
class _Room:
    """What still fits into a request."""

    bytes: int
    images: int

    def take(self, size: int) -> bool:
        """Take so many bytes of it, and the form around them, if there are as many."""
        if self.bytes < size + _FORM_BYTES:
            return False
        self.bytes -= size + _FORM_BYTES
        return True

    def has_for_image(self, size: int) -> bool:
        return self.images > 0 and self.bytes >= _as_base64(size) + _FORM_BYTES

    def take_image(self, size: int) -> bool:
        """Take what a picture of *size* bytes needs, if there is as much."""
        if not self.has_for_image(size):
            return False
        self.images -= 1
        return self.take(_as_base64(size))


def _as_base64(size: int) -> int:
    return (size + 2) // 3 * 4


def _is_picture(one: hikari.Attachment) -> bool:
    return (one.media_type or "").startswith("image/")


def _note(left_out: int) -> str:
    """Tell the model that there was more to see."""
    if not left_out:
        return ""
    return "[a picture is left out]" if left_out == 1 else f"[{left_out} pictures are left out]"


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


def _joined(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The parts of one long reply as one message, as the model said it."""
    out: list[ChatMessage] = []
    for one in messages:
        if out and one.role == out[-1].role == "assistant":
            out[-1] = assistant(f"{out[-1].text}\n\n{one.text}")
        else:
            out.append(one)
    while out and out[0].role == "assistant":  # a conversation begins with a person
        out.pop(0)
    return out
