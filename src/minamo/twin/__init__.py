"""A local Discord: REST and gateway on one port, real limits, planned faults, a journal.

    async with Twin() as t:
        bot = hikari.GatewayBot(t.token, rest_url=t.url)

It needs no Discord token, no network and no test server; `docs/twin.md` has the details.
"""

from __future__ import annotations

from minamo.twin.bots import TwinFailure
from minamo.twin.faults import CALLBACK, CREATE, DELETE, EDIT, EXECUTE, TYPING, Fault, Faults
from minamo.twin.journal import Journal
from minamo.twin.permissions import Permission
from minamo.twin.rules import Limit, Rules, Style, faster
from minamo.twin.server.refusals import Refused, SlowedDown
from minamo.twin.twin import Twin
from minamo.twin.world import Channel, Interaction, Message, User, Webhook

__all__ = [
    "CALLBACK",
    "CREATE",
    "DELETE",
    "EDIT",
    "EXECUTE",
    "TYPING",
    "Channel",
    "Fault",
    "Faults",
    "Interaction",
    "Journal",
    "Limit",
    "Message",
    "Permission",
    "Refused",
    "Rules",
    "SlowedDown",
    "Style",
    "Twin",
    "TwinFailure",
    "User",
    "Webhook",
    "faster",
]
