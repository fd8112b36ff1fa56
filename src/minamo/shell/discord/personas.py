"""A persona's sender, made of the parts that keep it speaking."""

from __future__ import annotations

import hikari

from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.webhook import WebhookSender
from minamo.shell.discord.webhooks import BotWebhooks
from minamo.shell.options import Persona
from minamo.shell.persona import PersonaSender


def persona_sender(
    rest: hikari.api.RESTClient,
    webhooks: hikari.api.RESTClient,
    bot: BotSender,
    persona: Persona,
) -> PersonaSender:
    """Speak as *persona* in the bot's channel; *webhooks* is a `webhook_client`."""

    def voice(webhook_id: int, token: str) -> WebhookSender:
        return WebhookSender(
            webhooks, webhook_id, token, bot, name=persona.name, avatar_url=persona.avatar_url
        )

    return PersonaSender(bot.place, BotWebhooks(rest), voice, bot)
