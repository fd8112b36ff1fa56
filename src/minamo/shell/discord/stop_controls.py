"""Built-in stop controls: the command ``/stop`` and the Stop button below a reply.

The requester and moderators may stop a reply; other users get a polite ephemeral refusal.  The
owner of a reply is known to the process that writes it, which need not be this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import hikari
from attrs import define, field

from minamo.shell.delivery.interfaces import Accepted
from minamo.shell.discord.bot import CallRunner, respond_ephemeral
from minamo.shell.notices.localization import FALLBACK, Wording, translations
from minamo.shell.stops.registry import INTERACTION, RequestOutcome, Stops

_LOG = logging.getLogger("minamo.stop")

# The phrase when no reply was stopped, by whether a reply is running.
_UNREACHED = {
    RequestOutcome.YES: "stop_not_allowed",
    RequestOutcome.NO: "stop_nothing",
    RequestOutcome.UNREACHABLE: "stop_unreachable",
}

#: Prefix of the custom id of a Stop button; the id of its stream follows.
BUTTON = "minamo:stop:"


def stream_of(custom_id: str) -> str | None:
    """Return the id of the stream that a button stops; None if it is not a Stop button."""
    return custom_id.removeprefix(BUTTON) if custom_id.startswith(BUTTON) else None


@define(eq=False)
class StopControls:
    """The handler of the command and the button; it raises nothing into the bot."""

    _bot: hikari.RESTAware = field(repr=False)
    _stops: Stops = field(repr=False)
    _wording: Callable[[str], Wording] = field(repr=False)
    """Returns the wording for a locale."""
    command: str | None = None
    """The command's name; None for the button only."""
    _calls: CallRunner = field(factory=CallRunner, repr=False)

    async def register(self) -> None:
        """Register the command with Discord.  The bot's other commands are unchanged."""
        if self.command is None:
            return
        name = self.command

        async def tell() -> None:
            rest = self._bot.rest
            app = await rest.fetch_application()
            await rest.create_slash_command(
                app.id,
                name,
                self._wording(FALLBACK).say("stop_command"),
                description_localizations=translations(self._wording, "stop_command"),
            )

        answer = await self._calls.make(tell())
        if not isinstance(answer, Accepted):
            _LOG.warning("the stop command is not registered", extra={"answer": repr(answer)})

    def attend(self, bot: hikari.RESTBotAware) -> None:
        """Register for button presses on a bot without a gateway, unless a listener is set."""
        if bot.interaction_server.get_listener(hikari.ComponentInteraction) is None:
            bot.interaction_server.set_listener(hikari.ComponentInteraction, self._on_press)

    async def _on_press(self, interaction: hikari.ComponentInteraction) -> None:
        await self.answer(interaction)

    async def on_event(self, event: hikari.InteractionCreateEvent) -> None:
        """Answer an interaction received through the gateway."""
        await self.answer(event.interaction)

    async def answer(self, interaction: hikari.PartialInteraction) -> bool:
        """Answer *interaction* if it is the Stop button or command; return whether it was."""
        if isinstance(interaction, hikari.ComponentInteraction):
            stream_id = stream_of(interaction.custom_id)
            if stream_id is None:
                return False
            text = await self._stop(interaction, stream_id=stream_id)
        elif (
            isinstance(interaction, hikari.CommandInteraction)
            and interaction.command_name == self.command
        ):
            text = await self._stop(interaction, channel_id=int(interaction.channel_id))
        else:
            return False
        await self._calls.make(
            respond_ephemeral(interaction, self._wording(str(interaction.locale)).say(text))
        )
        return True

    async def _stop(
        self,
        interaction: hikari.ComponentInteraction | hikari.CommandInteraction,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
    ) -> str:
        """Stop the reply if the user may; return the phrase for the result."""
        user_id = str(int(interaction.user.id))
        reached = await self._stops.request_stop(
            stream_id=stream_id,
            channel_id=channel_id,
            requester=user_id,
            context={INTERACTION: str(int(interaction.id))},
            asker=None if _may_moderate(interaction) else user_id,
        )
        if not reached:
            runs = await self._stops.is_running(stream_id=stream_id, channel_id=channel_id)
            return _UNREACHED[runs]
        return "stopped"


def _may_moderate(interaction: hikari.ComponentInteraction | hikari.CommandInteraction) -> bool:
    member = interaction.member
    if member is None:
        return False
    wanted = hikari.Permissions.MANAGE_MESSAGES | hikari.Permissions.ADMINISTRATOR
    return bool(member.permissions & wanted)
