"""The parts of one twin, in one object for the routes and the actors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from attrs import define, field

from minamo.twin.buckets import Buckets
from minamo.twin.endpoint import Endpoint, Signing
from minamo.twin.faults import Faults
from minamo.twin.gateway.connection import Gateway
from minamo.twin.journal import Journal
from minamo.twin.rules import Rules
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Channel, Message, World


@define(eq=False)
class Discord:
    """The parts of one local Discord, and the announcements to its gateway."""

    world: World
    rules: Rules
    faults: Faults
    journal: Journal
    buckets: Buckets
    gateway: Gateway
    now: Callable[[], float]
    token: str = field(repr=False)
    origin: str = ""
    signing: Signing = field(factory=Signing)
    endpoint: Endpoint | None = None
    unknown: list[str] = field(factory=list)
    closing: asyncio.Event = field(factory=asyncio.Event)

    def announce(self, name: str, message: Message, data: dict[str, Any] | None = None) -> None:
        """Dispatch a message event to the gateway.

        Discord sends an ephemeral message as if it were a direct message: to its bot, without
        server and member, under the intent for direct messages.
        """
        guild_id = self.world.channels[message.channel_id].guild_id
        body = data
        if body is None:
            is_new = name == "MESSAGE_CREATE"
            body = shapes_message.message_event(self.world, message, is_new=is_new)
        elif guild_id is not None:
            body = {**body, "guild_id": str(guild_id)}
        if message.is_ephemeral:
            guild_id = None
            body = {key: one for key, one in body.items() if key not in ("guild_id", "member")}
        self.gateway.dispatch(name, body, guild_id=guild_id)

    def archive_if_idle(self, channel: Channel) -> None:
        """Archive a thread that was inactive for its auto-archive duration."""
        if channel.is_idle(self.now()):
            channel.archive(True, self.now())
            self.announce_channel("THREAD_UPDATE", channel)

    def announce_channel(self, name: str, channel: Channel) -> None:
        """Dispatch a channel or thread event to the gateway."""
        body = shapes.channel(self.world, channel)
        self.gateway.dispatch(name, body, guild_id=channel.guild_id)
