"""The one door to Discord: hikari's calls, and what their ends mean.

No exception of hikari and no text of one leaves this package: it can hold tokens.
"""

from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.calls import Calls, answer_of
from minamo.shell.discord.echoes import hear_echoes
from minamo.shell.discord.interaction import InteractionSender
from minamo.shell.discord.webhook import WebhookSender, webhook_client
from minamo.shell.discord.webhooks import BotWebhooks

__all__ = [
    "BotSender",
    "BotWebhooks",
    "Calls",
    "InteractionSender",
    "WebhookSender",
    "answer_of",
    "hear_echoes",
    "webhook_client",
]
