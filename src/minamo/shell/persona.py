"""A persona that survives its webhook: a dead one is made again, once; then the bot speaks itself.

Only before the first message was shown may the voice change: a reply that begins as one and ends
as another reads like two.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Protocol

from attrs import define, evolve, field

from minamo.shell.sender import Answer, Kind, Post, Rejected, Sender, Took

# What Discord says of a webhook that somebody deleted, or whose token was reset.
DEAD = frozenset({"unknown_webhook", "bad_token"})
# Refusals that are about the voice, or may be (a bad form can be the name); the bot itself would
# fare better.  One that is about the text would only be refused again.
VOICELESS = DEAD | {"no_permission", "forbidden", "webhook_limit", "bad_form"}


class Webhooks(Protocol):
    """Where webhooks come from."""

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | Answer:
        """Id and token, or why there is none."""


@define(eq=False)
class PersonaSender:
    """Speaks through a webhook as long as that is possible."""

    channel_id: int
    _webhooks: Webhooks = field(repr=False)
    _voice: Callable[[int, str], Sender] = field(repr=False)
    """Makes the sender for a webhook's id and token, with the persona's name and face."""
    _bot: Sender = field(repr=False)
    _now: Sender | None = field(default=None, init=False, repr=False)
    _shown: bool = field(default=False, init=False)
    _renewed: bool = field(default=False, init=False)
    fell_back: str = field(default="", init=False)
    """Why the bot speaks itself; empty if it does not."""
    has_nonce: bool = field(default=False, init=False)

    @property
    def place(self) -> int:
        """The channel: the webhook may change."""
        return self.channel_id

    def route(self, kind: Kind) -> str:
        """The limits of webhooks, or the bot's own after it took over."""
        return self._bot.route(kind) if self.fell_back else "webhook"

    async def create(self, post: Post) -> Answer:
        """Send a new message, in whatever voice is left."""
        answer = await self._speak(post)
        if isinstance(answer, Rejected) and answer.reason in DEAD and not self._renewed:
            self._renewed = True
            self._now = None
            answer = await self._speak(post, anew=True)
        may_change = not self._shown and self._now is not self._bot
        if may_change and isinstance(answer, Rejected) and answer.reason in VOICELESS:
            self.fell_back, self._now = answer.reason, self._bot
            answer = await self._speak(post)
        self._shown = self._shown or isinstance(answer, Took)
        return answer

    async def edit(self, post: Post, message_id: int) -> Answer:
        """Change a message that was sent."""
        return await (self._now or self._bot).edit(post, message_id)

    async def delete(self, channel_id: int, message_id: int) -> Answer:
        """Remove a message that was sent."""
        return await (self._now or self._bot).delete(channel_id, message_id)

    async def typing(self, channel_id: int) -> Answer:
        """Show the bot typing: a webhook cannot."""
        return await self._bot.typing(channel_id)

    async def _speak(self, post: Post, *, anew: bool = False) -> Answer:
        if self._now is None:
            found = await self._webhooks.find(self.channel_id, anew=anew)
            if not isinstance(found, tuple):
                return found
            self._now = self._voice(*found)
        if self._now is self._bot:
            # Its client repeats by itself; with a nonce that shows nothing twice.
            post = evolve(post, nonce=secrets.token_hex(12))
        return await self._now.create(post)
