"""The documentation site: no warning, no dead link, every public name, nothing from elsewhere; in a browser, too."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from attrs import frozen

import minamo
import minamo.machine
import minamo.testing
import minamo.twin
from minamo.machine import chart_names, load

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


class Page(HTMLParser):
    """The anchors, links and resources of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.anchors.add(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        for name in ("src", "srcset", "data", "poster"):
            if name in found:
                self.resources.append(found[name])
        if tag == "link" and found.get("rel") != "canonical":
            self.resources.append(found.get("href", ""))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_link_is_dead(pages: dict[Path, Page]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.exists() or (
                parts.fragment and known and unquote(parts.fragment) not in known.anchors
            ):
                dead.append(f"{path.name}: {link}")  # fmt: skip
    assert dead == []
    assert len(pages) > 30


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        foreign = [one for one in page.resources if urlsplit(one).netloc]
        assert foreign == [], path.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text())


def test_every_public_name_is_explained(pages: dict[Path, Page]) -> None:
    anchors = set().union(*(page.anchors for page in pages.values()))
    for package in (minamo, minamo.machine, minamo.testing, minamo.twin):
        for name in package.__all__:
            known = {f"{package.__name__}.{name}", f"minamo.{name}"} & anchors
            assert known or name.startswith("__"), f"{package.__name__}.{name}"


@pytest.mark.parametrize("name", ["stream", "embedding", "examples", "privacy", "faq"])
def test_every_page_is_in_the_search(name: str, site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    assert any(document.endswith(name) for document in found["docnames"])


@pytest.mark.parametrize("name", chart_names())
def test_a_chart_can_be_stepped_through(name: str, site: Path) -> None:
    text = (site / "_generated" / "charts" / f"{name}.html").read_text(encoding="utf-8")
    scenes = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', text)[0])
    states = load(name).states
    ends = {scene["steps"][-1]["state"] for scene in scenes}
    assert {state.id for state in states.values() if state.final} <= ends
    for scene in scenes:
        for place in [scene["begin"], *(step["state"] for step in scene["steps"])]:
            assert f'id="state-{place}"' in text
    for state in states.values():
        assert f'id="about-{state.id}" href="#yaml-{state.line}"' in text
        assert f'id="yaml-{state.line}"' in text or f'name="yaml-{state.line}"' in text


GUIDES = (
    "index", "embedding", "tools", "adapters", "machine", "testing", "twin", "scaling", "run",
    "deploy", "coming-from", "faq", "privacy", "promises", "performance",
)  # fmt: skip


WIDTHS = (390, 1440)
# Where the links of a page lead, each once: most lead to a place within a page.
PAGES = "all => [...new Set(all.map(a => a.href.split('#')[0]))]"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
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

    def check(self, address: str) -> None:
        """Assert that it complained about nothing, and asked nobody but its own server."""
        assert self.complaints == []
        assert self.hosts == {urlsplit(address).netloc}


@pytest.fixture
async def reader(browser: Any, address: str) -> AsyncIterator[Reader]:
    found = Reader(await browser.new_page())
    yield found
    await found.page.close()
    found.check(address)


@frozen
class Visit:
    """A page as a browser shows it."""

    headings: int
    wide: dict[int, int]
    """Its width, by that of the window."""


@pytest.fixture(scope="module")
async def visited(browser: Any, address: str) -> dict[str, Visit]:
    """Every page that links lead to, by its address."""
    reader = Reader(await browser.new_page())
    waiting, seen = [f"{address}{name}.html" for name in GUIDES], dict[str, Visit]()
    while waiting:
        url = waiting.pop()
        if url in seen:
            continue
        await reader.page.goto(url, wait_until="domcontentloaded")
        wide = {}
        for width in WIDTHS if url.removeprefix(address).removesuffix(".html") in GUIDES else ():
            await reader.page.set_viewport_size({"width": width, "height": 900})
            wide[width] = await reader.page.evaluate("document.documentElement.scrollWidth")
        seen[url] = Visit(await reader.page.locator("h1").count(), wide)
        links = await reader.page.eval_on_selector_all("a[href]", PAGES)
        inner = {link for link in links if link.startswith(address)}
        waiting += [link for link in inner - set(seen) if link.endswith(".html")]
    await reader.page.close()
    reader.check(address)
    return seen


async def test_every_internal_link_leads_to_a_page(visited: dict[str, Visit]) -> None:
    assert len(visited) > 30
    assert [url for url, visit in visited.items() if not visit.headings] == []


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


@pytest.mark.parametrize("width", WIDTHS)
async def test_no_page_is_wider_than_its_window(visited: dict[str, Visit], width: int) -> None:
    wide = {url: visit.wide[width] for url, visit in visited.items() if visit.wide}
    assert len(wide) == len(GUIDES)
    assert max(wide.values()) <= width, wide
