"""A real Chromium, and the page in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from attrs import define, field


@define(eq=False)
class Seen:
    """A page, and all it complained about or asked for."""

    page: Any
    complaints: list[str] = field(factory=list)
    hosts: set[str] = field(factory=set)

    async def send(self, text: str) -> None:
        await self.page.fill("#box", text)
        await self.page.press("#box", "Enter")

    async def outcome(self, count: int = 1) -> str:
        """Wait until so many replies have ended; how the last did."""
        lines = self.page.locator("#messages .outcome")
        await lines.nth(count - 1).wait_for(timeout=40_000)
        found: str = await lines.nth(count - 1).locator(".pill").inner_text()
        return found

    async def until(self, true: str, timeout_s: float = 30.0) -> None:
        """Wait until a script says so; the page itself allows nobody to evaluate text."""
        for _ in range(int(timeout_s / 0.02)):
            if await self.page.evaluate(true):
                return
            await self.page.wait_for_timeout(20)
        raise TimeoutError(f"waited {timeout_s} s in vain for {true}")

    async def texts(self) -> list[str]:
        found: list[str] = await self.page.locator("#messages .message .text").all_inner_texts()
        return found

    async def lit(self) -> list[str]:
        """The states of the stream chart that were lit, in order."""
        found: list[str] = await self.page.evaluate("window.litStates")
        return found


# Seen from outside: which state of the picture carries the light, whenever that changes.
WATCH = """() => {
  window.litStates = [];
  const look = () => {
    const lit = document.querySelector('#picture .state.lit');
    const name = lit && lit.id.slice('state-'.length);
    if (name && window.litStates.at(-1) !== name) window.litStates.push(name);
  };
  new MutationObserver(look).observe(document.querySelector('#picture'),
    {subtree: true, childList: true, attributes: true, attributeFilter: ['class']});
  look();
}"""


@pytest.fixture
def look(browser: Any) -> Callable[..., Any]:
    """``async with look(address) as seen``: the page as somebody sees it.

    At the end it must not have complained, nor asked anybody but its own server.
    """

    @asynccontextmanager
    async def visit(address: str, **settings: Any) -> AsyncIterator[Seen]:
        settings.setdefault("viewport", {"width": 1440, "height": 900})
        context = await browser.new_context(**settings)
        seen = Seen(await context.new_page())
        page = seen.page
        page.on(
            "console", lambda m: m.type in ("error", "warning") and seen.complaints.append(m.text)
        )
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("request", lambda request: seen.hosts.add(urlsplit(request.url).netloc))
        try:
            await page.goto(address)
            await page.wait_for_selector("html[data-ready=yes]")
            await page.wait_for_selector("#link[data-link=open]")
            await page.wait_for_selector("#picture svg")
            await page.evaluate(WATCH)
            yield seen
        finally:
            await context.close()
        assert seen.complaints == []
        assert seen.hosts == {urlsplit(address).netloc}

    return visit


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Callable[[Any, str], Awaitable[None]]:
    """Keep a picture of the page, where MINAMO_SHOTS says."""

    async def take(page: Any, name: str) -> None:
        if folder := os.environ.get("MINAMO_SHOTS"):
            await page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return take
