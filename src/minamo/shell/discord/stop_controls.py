"""The ready-made ways to stop a reply: the command ``/stop`` and the button below it.

The one who asked may stop a reply, and so may moderators; everybody else is told so, politely and
only to themselves.  Whose reply it is knows the process that writes it, which need not be this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import hikari
from attrs import define, field

from minamo.shell.delivery.interfaces import Accepted
from minamo.shell.discord.calls import CallRunner, respond_ephemeral
from minamo.shell.notices.localization import FALLBACK, Wording, translations
from minamo.shell.stops.registry import RequestOutcome, Stops
from minamo.shell.stops.requests import INTERACTION

_LOG = logging.getLogger("minamo.stop")

# What to say when nothing was stopped, by whether something runs.
_UNREACHED = {
    RequestOutcome.YES: "stop_not_allowed",
    RequestOutcome.NO: "stop_nothing",
    RequestOutcome.UNREACHABLE: "stop_unreachable",
}

#: What the custom id of a Stop button begins with; the id of its stream follows.
BUTTON = "minamo:stop:"


def stream_of(custom_id: str) -> str | None:
    """The stream that a button stops; None if it is no button of ours."""
    return custom_id.removeprefix(BUTTON) if custom_id.startswith(BUTTON) else None


@define(eq=False)
class StopControls:
    """Listens for the command and the button; nothing is raised into the bot."""

    _bot: hikari.RESTAware = field(repr=False)
    _stops: Stops = field(repr=False)
    _wording: Callable[[str], Wording] = field(repr=False)
    """The words for a locale."""
    command: str | None = None
    """The command's name; None: only the button."""
    _calls: CallRunner = field(factory=CallRunner, repr=False)

    async def register(self) -> None:
        """Let Discord know the command.  Others of the bot stay as they are."""
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
        """Hear of buttons where there is no gateway, unless somebody else does."""
        if bot.interaction_server.get_listener(hikari.ComponentInteraction) is None:
            bot.interaction_server.set_listener(hikari.ComponentInteraction, self._on_press)

    async def _on_press(self, one: hikari.ComponentInteraction) -> None:
        await self.answer(one)

    async def on_event(self, event: hikari.InteractionCreateEvent) -> None:
        """Hear of an interaction through the gateway."""
        await self.answer(event.interaction)

    async def answer(self, one: hikari.PartialInteraction) -> bool:
        """Answer *one* if it is a press of our button or our command; whether it was."""
        if isinstance(one, hikari.ComponentInteraction):
            stream_id = stream_of(one.custom_id)
            if stream_id is None:
                return False
            text = await self._stop(one, stream_id=stream_id)
        elif isinstance(one, hikari.CommandInteraction) and one.command_name == self.command:
            text = await self._stop(one, channel_id=int(one.channel_id))
        else:
            return False
        await self._calls.make(respond_ephemeral(one, self._wording(str(one.locale)).say(text)))
        return True

    async def _stop(
        self,
        one: hikari.ComponentInteraction | hikari.CommandInteraction,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
    ) -> str:
        """Stop it, if they may; the phrase for how that went."""
        who = str(int(one.user.id))
        reached = await self._stops.request_stop(
            stream_id=stream_id,
            channel_id=channel_id,
            requester=who,
            context={INTERACTION: str(int(one.id))},
            asker=None if _may_moderate(one) else who,
        )
        if not reached:
            runs = await self._stops.is_running(stream_id=stream_id, channel_id=channel_id)
            return _UNREACHED[runs]
        return "stopped"


def _may_moderate(one: hikari.ComponentInteraction | hikari.CommandInteraction) -> bool:
    member = one.member
    if member is None:
        return False
    wanted = hikari.Permissions.MANAGE_MESSAGES | hikari.Permissions.ADMINISTRATOR
    return bool(member.permissions & wanted)
