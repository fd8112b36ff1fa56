"""The table of routes. A request for any other route fails loudly."""

from __future__ import annotations

from minamo.twin.routes import (
    guilds,
    interactions,
    messages,
    reactions,
    threads,
    webhooks,
)
from minamo.twin.server.calls import Route

# Literal paths before patterns that would also match them: the first match answers.
ROUTES: tuple[Route, ...] = (
    *guilds.SESSION_ROUTES,
    *interactions.COMMAND_ROUTES,
    *reactions.ROUTES,
    *messages.PIN_ROUTES,
    *messages.ROUTES,
    *threads.ROUTES,
    *threads.ARCHIVE_ROUTES,
    *guilds.CHANNEL_ROUTES,
    *guilds.ROUTES,
    *interactions.ROUTES,
    *webhooks.ROUTES,
)
