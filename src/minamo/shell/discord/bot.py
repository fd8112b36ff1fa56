"""The bot itself, in one channel: the only voice whose messages Discord recognises by a nonce."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import hikari
from attrs import define, field

from minamo.shell.discord.calls import Calls, answer_of, gone
from minamo.shell.discord.fields import creating, edited_flags, editing, given
from minamo.shell.sending.sender import Answer, Kind, Post

# What Discord says when a message has a thread; a repetition of a lost call hears it.
_HAS_A_THREAD = 160004
# Discord refuses a longer name.
_THREAD_NAME_MAX = 100


@define(eq=False)
class BotSender:
    """The bot itself, in one channel."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The channel."""
    has_nonce: bool = field(default=True, init=False)
    calls: Calls = field(factory=Calls, repr=False, kw_only=True)

    def route(self, kind: Kind) -> str:
        """The limit of such a call: each kind has its own."""
        return kind

    async def create(self, post: Post) -> Answer:
        """Send a new message."""
        return await self.calls.make(self._create(post), creates=True)

    async def create_all(self, after: Callable[[Answer | None], Post | None]) -> None:
        """Send what *after* gives for the answer to the last, until it gives nothing."""

        async def run() -> None:
            answer: Answer | None = None
            while (post := after(answer)) is not None:
                answer = await answer_of(self._create(post), creates=True)

        await self.calls.make(run())

    def _create(self, post: Post) -> Coroutine[Any, Any, hikari.Message]:
        return self._rest.create_message(
            post.channel_id,
            given(post.text),
            nonce=given(post.nonce),
            reply=given(post.reply_to),
            # Somebody may delete the question; the answer is still one.
            reply_must_exist=False if post.reply_to is not None else hikari.UNDEFINED,
            mentions_reply=post.ping.reply,
            **creating(post),
        )

    async def edit(self, post: Post, message_id: int) -> Answer:
        """Change a message that was sent."""
        call = self._rest.edit_message(
            post.channel_id,
            message_id,
            given(post.text),
            mentions_reply=post.ping.reply,
            flags=given(edited_flags(post) or None),
            **editing(post),
        )
        return await self.calls.make(call)

    async def delete(self, channel_id: int, message_id: int) -> Answer:
        """Remove a message."""
        return gone(await self.calls.make(self._rest.delete_message(channel_id, message_id)))

    async def typing(self, channel_id: int) -> Answer:
        """Show the typing indicator."""
        return await self.calls.make(_once(self._rest, channel_id))

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> Answer:
        """Start a thread from a message; it took the thread's id."""
        call = _thread(self._rest, channel_id, message_id, name[:_THREAD_NAME_MAX])
        return await self.calls.make(call)


async def _once(rest: hikari.api.RESTClient, channel_id: int) -> None:
    # Awaiting it makes one call; entering it would start hikari's own loop.
    await rest.trigger_typing(channel_id)


async def _thread(
    rest: hikari.api.RESTClient, channel_id: int, message_id: int, name: str
) -> hikari.PartialChannel | hikari.PartialMessage:
    try:
        return await rest.create_message_thread(channel_id, message_id, name)
    except hikari.BadRequestError as error:
        if error.code != _HAS_A_THREAD:
            raise
        # A thread has the id of its message.
        return await rest.fetch_channel(message_id)
