"""Where the bot's webhooks come from.

Only those that its own application made are used: whoever made another knows its token, and can
read and delete what is said with it.
"""

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
    _application_id: int | None = field(default=None, init=False)

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | Answer:
        """Id and token of a webhook that is ours, or why there is none; *anew* makes another."""
        found: list[hikari.IncomingWebhook] = []

        async def look() -> None:
            if not anew:
                found.extend(await self._own(channel_id))
            if not found:
                found.append(await self._rest.create_webhook(channel_id, self._name))

        answer = await self._calls.make(look())
        if not found or found[0].token is None:
            return answer
        return int(found[0].id), found[0].token

    async def _own(self, channel_id: int) -> list[hikari.IncomingWebhook]:
        every = await self._rest.fetch_channel_webhooks(channel_id)
        incoming = [one for one in every if isinstance(one, hikari.IncomingWebhook) and one.token]
        if incoming and self._application_id is None:
            # Not the bot's own id: those of old bots differ.
            self._application_id = int((await self._rest.fetch_application()).id)
        return [one for one in incoming if one.application_id == self._application_id]
