"""Conversation history: the chain of replies that ends with a given message.

The numbers of messages, characters, pictures and files are bounded, and so is the total size, by
the limit of a request to a provider.  A message that cannot be fetched ends the chain, without an
error: a shorter history is still usable.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import hikari
from attrs import define, evolve, field, frozen

from minamo.shell.discord.attachments import Room, is_picture, read_attachments
from minamo.shell.discord.bot import CallRunner
from minamo.shell.discord.targets import name_of
from minamo.wire.conversation import ChatMessage, assistant, user
from minamo.wire.files import clean_name
from minamo.wire.limits import CONVERSATION_BYTES_MAX
from minamo.wire.options import as_json

T = TypeVar("T")

_MENTION = re.compile(r"<@!?(\d+)>")
# Stands for a last message without text, such as a bare mention, so that a model can answer it.
NO_TEXT = "[a message without text]"
# The notice before the reply of a persona, because a webhook cannot reply.
_NOTICE = re.compile(r"-# ↪ \S*/channels/(?:\d+|@me)/\d+/(\d+)")


@frozen(kw_only=True)
class HistoryLimits:
    """Limits on the history of a conversation."""

    messages_max: int = 24
    """About twelve questions with their answers."""
    characters_max: int = 24_000
    """About six thousand tokens."""
    images_max: int = 4
    """Each costs as much as a page of text.  A note in the text marks omitted pictures."""
    files_max: int = 8
    """Text files, PDFs and voice messages.  A note in the text says what is omitted, and why."""
    file_characters_max: int = 60_000
    """Of all text files together; about fifteen thousand tokens."""


@define(eq=False)
class ReplyChain:
    """The chain of replies before a message."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _me: int
    _memory: HistoryLimits
    _calls: CallRunner = field(factory=CallRunner, repr=False)

    async def walk(self, last: hikari.Message) -> list[hikari.PartialMessage]:
        """Return the messages of the conversation, oldest first."""
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
            known = message.referenced_message
            if known:
                return await self._whole(known, message.channel_id)
            return await self._fetch(message.channel_id, reference.id)
        if self._is_mine(message):
            return await self._sibling(message)
        return None

    async def _whole(
        self, known: hikari.PartialMessage, channel_id: hikari.Snowflake
    ) -> hikari.PartialMessage | None:
        # A referenced message is one level deep: it lacks the message it replies to.
        if known.message_reference and not known.referenced_message:
            return await self._fetch(channel_id, known.id) or known
        return known

    async def _sibling(self, message: hikari.PartialMessage) -> hikari.PartialMessage | None:
        """Return the bot's message just before: only the first of a long reply has a reference."""

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
        # A persona of this bot: a bot's application has the bot's id.
        return bool(message.webhook_id) and int(message.application_id or 0) == self._me

    async def _ask(self, call: Awaitable[T]) -> T | None:
        # Never cancelled, like every call to hikari (see shell/discord/bot.py).
        found: list[T] = []

        async def look() -> None:
            found.append(await call)

        await self._calls.make(look())
        return found[0] if found else None

    async def read(self, messages: Sequence[hikari.PartialMessage]) -> list[ChatMessage]:
        """Return the messages in the provider's form, with the newest files downloaded.

        All of it fits into one request: the newest texts take room first, then the newest files.
        """
        texts: list[str] = []
        limits = self._memory
        room = Room(
            CONVERSATION_BYTES_MAX, limits.images_max, limits.files_max, limits.file_characters_max
        )
        for message in reversed(messages):
            text = plain_text(message, self._me)
            if not room.take(len(as_json([text, name_of(message)]))) and texts:
                break
            texts.append(text)
        chat: list[ChatMessage] = []
        for message, text in zip(reversed(messages), texts, strict=False):
            if self._is_mine(message):
                if message.attachments:
                    await self._show_own(message.attachments, chat, room)
                if text and _noticed(message) is None:
                    chat.append(assistant(text))
                continue
            found = await read_attachments(message.attachments or (), room, self._ask)
            content = "\n".join(filter(None, [text, *found.texts]))
            if not content and not found.images and not found.files and message is messages[-1]:
                content = NO_TEXT
            if content or found.images or found.files:
                name = name_of(message)
                chat.append(user(content, name=name, images=found.images, files=found.files))
        return _joined(chat[::-1])

    async def _show_own(
        self, attachments: Sequence[hikari.Attachment], chat: list[ChatMessage], room: Room
    ) -> None:
        """Add the bot's own pictures to the user's message after them: only users show pictures."""
        after = next((at for at in reversed(range(len(chat))) if chat[at].role == "user"), None)
        pictures = [attachment for attachment in attachments if is_picture(attachment)]
        if after is None or not pictures:
            return
        found = await read_attachments(pictures, room, self._ask)
        if found.images:
            names = ", ".join(clean_name(picture.filename) for picture in pictures)
            text = f"{chat[after].text}\n[attached, too: {names}, which you sent before]"
            images = (*found.images, *chat[after].images)
            chat[after] = evolve(chat[after], text=text.strip(), images=images)


def _noticed(message: hikari.PartialMessage) -> int | None:
    """Return the id of the message a persona's notice refers to; None if it is no notice."""
    found = _NOTICE.match(message.content or "")
    return None if found is None else int(found[1])


def plain_text(message: hikari.PartialMessage, me: int) -> str:
    """Return the text of a message, with names for user ids and without the bot's own mention."""
    known = message.user_mentions or {}

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        if number == me:
            return ""
        person = known.get(hikari.Snowflake(number))
        return match[0] if person is None else f"@{person.global_name or person.username}"

    return _MENTION.sub(named, message.content or "").strip()


def _joined(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Return *messages* with the parts of each long reply joined, as the model wrote it."""
    out: list[ChatMessage] = []
    for message in messages:
        if out and message.role == out[-1].role == "assistant":
            out[-1] = assistant(f"{out[-1].text}\n\n{message.text}")
        else:
            out.append(message)
    while out and out[0].role == "assistant":  # a conversation begins with a user message
        out.pop(0)
    return out
