"""Take the pictures of the live page: a first visit to the demo, with a real browser.

`python tests/browser/screenshots.py FOLDER`, or `make screenshots`.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import define

from minamo.bot.demo.demo import demo_world
from minamo.bot.demo.provider import DemoProvider
from minamo.inspect.hub import Hub
from minamo.inspect.server import serve
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.wire.conversation import ChatMessage
from minamo.wire.options import Tool

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium needs these where there is no display, no user and little shared memory.
ARGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
DESK = {"width": 1280, "height": 800}
WIDE = {"width": 1600, "height": 760}
PHONE = {"width": 390, "height": 844}
# The same letters and hours wherever they are taken.
PLACE = {"locale": "en-GB", "timezone_id": "UTC"}
# What comes before the pictures need not take its time.
HURRY = 0.1
MARGIN_PX = 10
PATIENCE_S = 30.0


@define(eq=False)
class Paced:
    """The demo's own model, which can be asked to hurry."""

    pace: float = HURRY

    def chat(
        self, messages: Sequence[ChatMessage], *, tools: Iterable[Tool] = (), **how: Any
    ) -> ScriptedProvider:
        return DemoProvider(pace=self.pace).chat(messages, tools=tools, **how)


async def take_all(browser: Any, folder: Path, pace: float = 1.0, **how: Any) -> None:
    """Play the visit at that *pace*, and leave the pictures in *folder*.

    *how* are more settings of the browser's contexts.
    """
    how = PLACE | how
    hub, model = Hub(recording=True), Paced()
    async with (
        demo_world(hub=hub, provider=model) as world,
        serve(hub, actions=world) as served,
    ):
        desk = await browser.new_context(viewport=DESK, **how)
        page = await desk.new_page()
        night = await browser.new_context(viewport=DESK, color_scheme="dark", **how)
        dark = await night.new_page()
        await arrive(page, served.address)
        await arrive(dark, served.address)
        await ask(page, "Code")
        await until(page, "!document.querySelector('#composer').classList.contains('busy')")

        model.pace = pace
        await ask(page, "Thoughts")
        # Some words after the thought: both are in the log, and the first message is not out yet.
        await until(page, f"{THOUGHT_OVER} && {LINES_AFTER} >= 4")
        await page.screenshot(path=folder / "page.png")
        await dark.screenshot(path=folder / "page-dark.png")
        await night.close()
        await until(page, "document.querySelectorAll('#messages .outcome').length === 2")
        await page.wait_for_timeout(1_000)  # the last light fades

        await why(page, folder / "why.png")
        await travel(page, folder / "travel.png")
        await desk.close()
        await phone(browser, served.address, folder / "phone.png", how)


THOUGHT_OVER = "document.querySelector('#now-state').textContent === 'streaming'"
LINES_AFTER = (
    "[...document.querySelectorAll('#log .line')].reverse()"
    ".findIndex((one) => one.textContent.includes('think_closed'))"
)


async def arrive(page: Any, address: str) -> None:
    await page.goto(address)
    await page.wait_for_selector("html[data-ready=yes]")
    await page.wait_for_selector("#link[data-link=open]")
    await page.wait_for_selector("#picture svg")


async def ask(page: Any, title: str) -> None:
    await page.locator(".chip", has_text=title).click()
    await page.mouse.move(DESK["width"] / 2, 2)  # a button under the pointer looks pressed
    await until(page, "document.querySelector('#composer').classList.contains('busy')")


async def until(page: Any, true: str) -> None:
    """Wait for what a script says; the page's policy forbids evaluating text."""
    for _ in range(int(PATIENCE_S / 0.02)):
        if await page.evaluate(true):
            return
        await page.wait_for_timeout(20)
    raise TimeoutError(f"waited {PATIENCE_S} s in vain for {true}")


async def why(page: Any, path: Path) -> None:
    """A character that is not shown, and its reason."""
    await page.set_viewport_size(WIDE)  # so that the answer fits into its panel
    await page.click("#tab-raw")
    await page.locator("#raw .fate-thought", has_text="absorbs").click(position={"x": 12, "y": 8})
    await page.wait_for_selector("#why:not([hidden])")
    box = await page.locator(".inspector").bounding_box()
    around = {"x": -1, "y": -1, "width": 2, "height": 2}
    clip = {name: round(size + MARGIN_PX * around[name]) for name, size in box.items()}
    await page.screenshot(path=path, clip=clip)
    await page.keyboard.press("Escape")
    await page.set_viewport_size(DESK)


async def travel(page: Any, path: Path) -> None:
    """Back to where the code was being written."""
    await page.select_option("#streams", "1")
    await page.click("#tab-log")
    await page.click("#first")
    await page.focus("#next")
    at = "document.querySelector('#now-state').textContent"
    for _ in range(32):  # well into the listing
        await page.keyboard.press("ArrowRight")
    await until(page, f"{at} === 'in_code'")
    await page.mouse.move(DESK["width"] / 2, 2)
    await page.wait_for_timeout(800)  # the light of the states passed through fades
    await page.screenshot(path=path)


async def phone(browser: Any, address: str, path: Path, how: dict[str, Any]) -> None:
    """The same on a small screen, while a reply is written."""
    context = await browser.new_context(viewport=PHONE, **how)
    page = await context.new_page()
    await arrive(page, address)
    await ask(page, "A table")
    await until(page, "document.querySelectorAll('#messages [data-button]').length > 0")
    await page.screenshot(path=path)
    await context.close()


async def main(folder: Path) -> None:
    from playwright.async_api import async_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f"no browser found; install one of {', '.join(BROWSERS)}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=ARGS)
        await take_all(browser, folder)
        await browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: screenshots.py FOLDER")
    given = Path(sys.argv[1])
    given.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given))
