"""A persona's sender, made of the parts that keep it speaking."""

from __future__ import annotations

import hikari
from attrs import frozen

from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.targets import Target
from minamo.shell.discord.webhook import WebhookSender
from minamo.shell.discord.webhooks import BotWebhooks
from minamo.shell.options import Persona
from minamo.shell.sending.persona import PersonaSender
from minamo.shell.sending.reply_notice import ReplyNotice
from minamo.shell.sending.sender import Answer
from minamo.shell.telling.wording import Wording


@frozen
class Speaking:
    """What a persona needs to speak: its webhooks, a client that repeats nothing, the words."""

    own: BotWebhooks
    webhooks: hikari.api.RESTClient
    wording: Wording
    cache: hikari.api.Cache | None = None
    """Where threads are known; without it a persona cannot speak in one."""

    def sender(self, persona: Persona, bot: BotSender, target: Target) -> PersonaSender:
        """Speak as *persona* where *bot* would."""
        parent = self._parent(bot.place)

        def voice(webhook_id: int, token: str) -> WebhookSender:
            return WebhookSender(
                self.webhooks,
                webhook_id,
                token,
                bot,
                name=persona.name,
                avatar_url=persona.avatar_url,
                thread_id=None if parent is None else bot.place,
            )

        # Filled in later; braces in a name must not be taken for a place to fill.
        name = target.author_name.replace("{", "(").replace("}", ")")
        words = self.wording.say("reply_notice", name=name, link="{link}")
        return PersonaSender(
            bot.place,
            _Shelf(self.own, parent),
            voice,
            bot,
            notice=ReplyNotice(guild_id=target.guild_id, words=words),
        )

    def _parent(self, channel_id: int) -> int | None:
        """The channel that a thread hangs on: webhooks belong to channels."""
        thread = None if self.cache is None else self.cache.get_thread(channel_id)
        return None if thread is None else int(thread.parent_id)


@frozen
class _Shelf:
    """The webhooks of a channel, or of the channel that a thread hangs on."""

    _own: BotWebhooks
    _parent: int | None

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | Answer:
        """Id and token, or why there is none."""
        return await self._own.find(self._parent or channel_id, anew=anew)
