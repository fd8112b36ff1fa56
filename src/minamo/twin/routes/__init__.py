"""The table of routes. A request for any other route fails loudly."""

from __future__ import annotations

from minamo.twin.routes import (
    channels,
    commands,
    guilds,
    interactions,
    messages,
    pins,
    reactions,
    threads,
    webhooks,
)
from minamo.twin.server.calls import Route

# Literal paths before patterns that would also match them: the first match answers.
ROUTES: tuple[Route, ...] = (
    *guilds.SESSION_ROUTES,
    *commands.ROUTES,
    *reactions.ROUTES,
    *pins.ROUTES,
    *messages.ROUTES,
    *threads.ROUTES,
    *threads.ARCHIVE_ROUTES,
    *channels.ROUTES,
    *guilds.ROUTES,
    *interactions.ROUTES,
    *webhooks.ROUTES,
)
