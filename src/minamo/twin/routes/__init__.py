"""The table of routes. A request for any other route fails loudly."""

from __future__ import annotations

from minamo.twin.calls import Route
from minamo.twin.routes import (
    archives,
    channels,
    commands,
    guilds,
    interactions,
    messages,
    pins,
    reactions,
    session,
    threads,
    webhooks,
)

# Literal paths before patterns that would also match them: the first match answers.
ROUTES: tuple[Route, ...] = (
    *session.ROUTES,
    *commands.ROUTES,
    *reactions.ROUTES,
    *pins.ROUTES,
    *messages.ROUTES,
    *threads.ROUTES,
    *archives.ROUTES,
    *channels.ROUTES,
    *guilds.ROUTES,
    *interactions.ROUTES,
    *webhooks.ROUTES,
)
