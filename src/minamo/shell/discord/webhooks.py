"""Where the bot's webhooks come from."""

from __future__ import annotations

import hikari
from attrs import define, field

from minamo.shell.discord.calls import Calls
from minamo.shell.sending.sender import Answer


@define(eq=False)
class BotWebhooks:
    """The bot's own webhooks, one per channel, found or made when first needed."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _name: str = "minamo"
    _calls: Calls = field(factory=Calls, repr=False, kw_only=True)

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | Answer:
        """Id and token of a webhook that is ours, or why there is none; *anew* makes another."""
        found: list[hikari.IncomingWebhook] = []

        async def look() -> None:
            every = [] if anew else await self._rest.fetch_channel_webhooks(channel_id)
            # Discord shows the token only of webhooks that this bot made.
            found.extend(x for x in every if isinstance(x, hikari.IncomingWebhook) and x.token)
            if not found:
                found.append(await self._rest.create_webhook(channel_id, self._name))

        answer = await self._calls.make(look())
        if not found or found[0].token is None:
            return answer
        return int(found[0].id), found[0].token
