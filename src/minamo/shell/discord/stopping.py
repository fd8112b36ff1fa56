"""The ready-made ways to stop a reply: the command ``/stop`` and the button below it.

The one who asked may stop a reply, and so may moderators; everybody else is told so, politely and
only to themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

import hikari
from attrs import define, field

from minamo.shell.discord.calls import Calls, whisper
from minamo.shell.sending.sender import Took
from minamo.shell.telling.wording import FALLBACK, Wording, translations

_LOG = logging.getLogger("minamo.stop")

#: What the custom id of a Stop button begins with; the id of its stream follows.
BUTTON = "minamo:stop:"


class Stoppable(Protocol):
    """Whoever runs the streams."""

    def asker(self, *, channel_id: int, stream_id: str | None) -> tuple[bool, str | None]:
        """Whether something runs there, and who asked for it."""

    async def stop(self, *, channel_id: int, stream_id: str | None, requester: str) -> bool:
        """Stop it; whether it was reached."""


def stream_of(custom_id: str) -> str | None:
    """The stream that a button stops; None if it is no button of ours."""
    return custom_id.removeprefix(BUTTON) if custom_id.startswith(BUTTON) else None


@define(eq=False)
class StopWays:
    """Listens for the command and the button; nothing is raised into the bot."""

    _bot: hikari.GatewayBotAware = field(repr=False)
    _runs: Stoppable = field(repr=False)
    _wording: Callable[[str], Wording] = field(repr=False)
    """The words for a locale."""
    command: str | None = None
    """The command's name; None: only the button."""
    _calls: Calls = field(factory=Calls, repr=False)

    def listen(self) -> Callable[[], None]:
        """Begin; returns what ends it."""
        events = self._bot.event_manager
        events.subscribe(hikari.InteractionCreateEvent, self._on_interaction)
        return lambda: events.unsubscribe(hikari.InteractionCreateEvent, self._on_interaction)

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
        if not isinstance(answer, Took):
            _LOG.warning("the stop command is not registered", extra={"answer": repr(answer)})

    async def _on_interaction(self, event: hikari.InteractionCreateEvent) -> None:
        one = event.interaction
        if isinstance(one, hikari.ComponentInteraction):
            stream_id = stream_of(one.custom_id)
            if stream_id is not None:
                await self._answer(one, stream_id)
        elif isinstance(one, hikari.CommandInteraction) and one.command_name == self.command:
            await self._answer(one, None)

    async def _answer(
        self, one: hikari.ComponentInteraction | hikari.CommandInteraction, stream_id: str | None
    ) -> None:
        say = self._wording(str(one.locale)).say
        who, channel_id = str(int(one.user.id)), int(one.channel_id)
        runs, asker = self._runs.asker(channel_id=channel_id, stream_id=stream_id)
        if not runs:
            text = say("stop_nothing")
        elif asker not in (None, who) and not _may_moderate(one):
            text = say("stop_not_allowed")
        else:
            reached = await self._runs.stop(
                channel_id=channel_id, stream_id=stream_id, requester=who
            )
            text = say("stopped") if reached else say("stop_nothing")
        await self._calls.make(whisper(one, text))


def _may_moderate(one: hikari.ComponentInteraction | hikari.CommandInteraction) -> bool:
    member = one.member
    if member is None:
        return False
    wanted = hikari.Permissions.MANAGE_MESSAGES | hikari.Permissions.ADMINISTRATOR
    return bool(member.permissions & wanted)
