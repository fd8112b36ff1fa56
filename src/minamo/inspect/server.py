"""HTTP server of the live page, on this machine by default, at an address with a random key."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from threading import Thread

from aiohttp import web
from attrs import field, frozen

from minamo.errors import BadSetting
from minamo.inspect.access import AccessControl
from minamo.inspect.assets import draw_charts
from minamo.inspect.hub import Hub
from minamo.inspect.routes import Site
from minamo.inspect.views import Actions, Prompt

__all__ = ["Actions", "Prompt", "Served", "serve"]


@frozen(slots=True)
class Served:
    """A running page."""

    host: str
    port: int
    key: str = field(repr=False)

    @property
    def address(self) -> str:
        """Address of the page with its key; for the terminal, not for a log."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?key={self.key}"


@asynccontextmanager
async def serve(
    hub: Hub,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    key: str | None = None,
    actions: Actions | None = None,
    names: Collection[str] = (),
) -> AsyncIterator[Served]:
    """Serve the page of *hub* until the block is left.

    Args:
        hub: The hub to show.
        host: The default accepts connections from this machine only.
        port: 0 picks a free one.
        key: Secret that the address must contain, 16 characters or more; random by default.
        actions: The actions the page may take; without it, the page is read-only.
        names: Further host names under which the page is served, as behind a proxy.

    Raises:
        BadSetting: the port cannot be used, or the key is too short.
    """
    key = secrets.token_urlsafe(24) if key is None else key
    doors = AccessControl(key, frozenset(names))
    site = Site(hub, doors, actions)
    runner = web.AppRunner(site.application(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadSetting(
                f"the page cannot be served on port {port} of {host}: {why}; "
                "choose another port, or 0 for any that is free"
            ) from None
        doors.port = int(runner.addresses[0][1])
        # A daemon: the end of the program does not wait for pictures.
        Thread(target=draw_charts, name="minamo charts", daemon=True).start()
        yield Served(host, doors.port, key)
    finally:
        site.closing.set()
        await runner.cleanup()
