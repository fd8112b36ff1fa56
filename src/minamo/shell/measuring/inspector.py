"""The live page for one's own bot: off unless asked for, and then for this machine only."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from attrs import define, field

from minamo.errors import BadSetting
from minamo.shell.measuring.looking import HarmlessLooker, Looker

_LOG = logging.getLogger("minamo.page")


@define(eq=False)
class Inspector:
    """Who looks on, and where."""

    looker: Looker | None = None
    page: Callable[[], AbstractAsyncContextManager[Any]] | None = field(default=None, repr=False)
    """Serves the page; None if somebody else does, or nobody."""
    address: str | None = field(default=None, repr=False)


def inspector(wanted: bool | Looker) -> Inspector:
    """Nobody; somebody who is there already; or, for True, a page of the client's own."""
    if not isinstance(wanted, bool):
        if not hasattr(wanted, "open_stream"):
            raise BadSetting(f"inspect must be True, False or a looker; it is {wanted!r}")
        return Inspector(HarmlessLooker(wanted))
    if not wanted:
        return Inspector()
    # Only who looks pays for it.
    from minamo.inspect.hub import Hub
    from minamo.inspect.server import serve

    hub = Hub()
    made = Inspector(HarmlessLooker(hub))

    @asynccontextmanager
    async def page() -> AsyncIterator[None]:
        async with serve(hub) as served:
            made.address = served.address
            _LOG.info("the live page is served on port %d, to this machine only", served.port)
            _show(served.address)
            try:
                yield
            finally:
                made.address = None

    made.page = page
    return made


def _show(address: str) -> None:
    """Write *address* to the terminal, if there is one.

    It holds the key, which is for people who sit at this machine and not for a log.
    """
    with suppress(OSError, ValueError):  # it was closed
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"the live page, for this machine only: {address}\n")
