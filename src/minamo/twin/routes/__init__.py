"""The table of routes.  What is not in it fails loudly."""

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

# Literal paths before patterns that would swallow them: the first match answers.
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
