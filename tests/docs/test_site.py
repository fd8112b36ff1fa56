"""The documentation site: no warning, no dead link, every public name, nothing from elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import minamo
import minamo.machine
import minamo.testing
import minamo.twin
from minamo.machine import chart_names, load

pytestmark = pytest.mark.timeout(300)  # the first test builds the site


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
