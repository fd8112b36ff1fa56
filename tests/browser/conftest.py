"""A real Chromium, and the page in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
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

    @contextmanager
    def listening(self) -> Iterator[None]:
        heard: dict[str, Callable[[Any], object]] = {
            "console": lambda message: self._hear(message.type, message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.hosts.add(urlsplit(request.url).netloc),
        }
        for event, listener in heard.items():
            self.page.on(event, listener)
        try:
            yield
        finally:
            for event, listener in heard.items():
                self.page.remove_listener(event, listener)

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

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
        """Wait until a script says so; the page's policy forbids evaluating text."""
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


# Drawing what moves takes a quarter of the processor time of a visit, so tabs stand still unless asked.
MOVING = {"reduced_motion": "no-preference"}


@define(eq=False)
class Tabs:
    """Tabs of a browser that were used before: a new one takes a second of processor time."""

    browser: Any
    free: dict[str, list[Any]] = field(factory=dict)
    """Tabs that show nothing, by the settings of their contexts."""

    @asynccontextmanager
    async def tab(
        self,
        viewport: dict[str, int],
        color_scheme: str = "light",
        reduced_motion: str = "reduce",
        **settings: Any,
    ) -> AsyncIterator[Any]:
        """Yield a tab of its own; one in which something went wrong is not used again."""
        free = self.free.setdefault(repr(sorted(settings.items())), [])
        page = free.pop() if free else await (await self.browser.new_context(**settings)).new_page()
        try:
            await page.set_viewport_size(viewport)
            await page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
            yield page
            await self._forget(page)
        except BaseException:
            await page.context.close()
            raise
        free.append(page)

    async def _forget(self, page: Any) -> None:
        """Leave nothing of a visit behind: storage, cookies, the place of the pointer."""
        await page.evaluate("localStorage.clear(), sessionStorage.clear()")
        await page.goto("about:blank")
        await page.context.clear_cookies()
        await page.mouse.move(0, 0)


@pytest.fixture(scope="module")
def tabs(browser: Any) -> Tabs:
    return Tabs(browser)


@pytest.fixture
def look(tabs: Tabs) -> Callable[..., Any]:
    """``async with look(address) as seen``: the page as its reader sees it.

    At the end it must not have complained, nor asked anybody but its own server.
    """

    @asynccontextmanager
    async def visit(address: str, **settings: Any) -> AsyncIterator[Seen]:
        settings = {"viewport": {"width": 1440, "height": 900}} | settings
        async with tabs.tab(**settings) as page:
            seen = Seen(page)
            with seen.listening():
                await page.goto(address)
                await page.wait_for_selector("html[data-ready=yes]")
                await page.wait_for_selector("#link[data-link=open]")
                await page.wait_for_selector("#picture svg")
                await page.evaluate(WATCH)
                yield seen
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
