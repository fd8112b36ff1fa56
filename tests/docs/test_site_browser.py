"""The documentation in a real browser: pages, search, charts, and no request to another host."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

import pytest

from support.chromium import find_chromium

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
GUIDES = (
    "index", "embedding", "tools", "adapters", "machine", "testing", "twin", "scaling", "run",
    "deploy", "coming-from", "faq", "privacy", "promises", "performance",
)  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


class Reader:
    """A page, the hosts that it asked, and what it complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("response", self._answered)

    def _answered(self, response: Any) -> None:
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            self.complaints.append(f"{response.status} {response.url}")


@pytest.fixture
async def reader(address: str) -> AsyncIterator[Reader]:
    from playwright.async_api import async_playwright

    chromium = find_chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium.program, env=chromium.environ, args=[*chromium.arguments]
        )
        found = Reader(await browser.new_page())
        yield found
        await browser.close()
    assert found.complaints == []
    assert found.hosts == {urlsplit(address).netloc}


async def test_every_internal_link_leads_to_a_page(reader: Reader, address: str) -> None:
    waiting, seen = [f"{address}{name}.html" for name in GUIDES], set()
    while waiting:
        url = waiting.pop()
        if url in seen:
            continue
        seen.add(url)
        await reader.page.goto(url, wait_until="domcontentloaded")
        assert await reader.page.locator("h1").count() >= 1, url
        links = await reader.page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)")
        inner = {urldefrag(link).url for link in links if link.startswith(address)}
        waiting += [link for link in inner - seen if link.endswith(".html")]
    assert len(seen) > 30


async def test_the_search_finds_a_name_and_a_word(reader: Reader, address: str) -> None:
    for word, page in (("check_adapter", "adapters"), ("privacy", "privacy")):
        await reader.page.goto(address)
        await reader.page.locator("input[name=q]").first.fill(word)
        await reader.page.locator("input[name=q]").first.press("Enter")
        results = reader.page.locator("#search-results li a")
        await results.first.wait_for(timeout=30_000)
        found = await results.evaluate_all("all => all.map(a => a.getAttribute('href'))")
        assert any(page in link for link in found), (word, found)


async def test_a_chart_lights_its_states(reader: Reader, address: str) -> None:
    page = reader.page
    await page.goto(f"{address}_generated/charts/stream.html")
    player = page.locator(".chart-player")
    assert await player.get_attribute("data-state") == "opening"
    while await player.get_by_role("button", name="Step").is_enabled():
        await player.get_by_role("button", name="Step").click()
    assert await player.get_attribute("data-state") == "completed"
    assert await page.locator("svg .state.lit").get_attribute("id") == "state-completed"
    await player.get_by_role("button", name="Back").click()
    assert await page.locator("svg .state.lit").count() == 1
    await page.locator("#state-in_think").click()
    assert (await page.evaluate("location.hash")) == "#about-in_think"
    await player.get_by_label("path").select_option(label="shortest path to timeout")
    assert await player.get_attribute("data-state") == "opening"


@pytest.mark.parametrize("width", [390, 1440])
async def test_no_page_is_wider_than_its_window(reader: Reader, address: str, width: int) -> None:
    await reader.page.set_viewport_size({"width": width, "height": 900})
    for name in GUIDES:
        await reader.page.goto(f"{address}{name}.html", wait_until="domcontentloaded")
        wide = await reader.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, name
