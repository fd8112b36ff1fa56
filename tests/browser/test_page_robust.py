"""The page under strain and in other shapes: hostile replies, dark, small, by keyboard."""

from __future__ import annotations

import time
from statistics import median

import pytest

from minamo.machine import chart_names
from minamo.shell.providers.scripted import ScriptedProvider
from support.page import HOSTILE, rig

pytestmark = pytest.mark.anyio

FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


async def frame(page, count=15) -> float:
    """How long the page usually takes to answer; one slow answer may be the machine's."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await page.evaluate(FRAME)
        took.append(time.perf_counter() - began)
    return median(took)


async def test_a_hostile_reply_does_nothing_and_freezes_nothing(look, figure, shoot):
    assert len(HOSTILE) > 95_000
    async with rig(quick=True) as made, look(made.served.address) as seen:
        page = seen.page
        await seen.send("Be hostile.")
        assert await seen.outcome() == "completed"
        await frame(page, 3)  # what was still on its way
        answers = []
        for tab in ("#tab-log", "#tab-raw", "#tab-thoughts"):
            await page.click(tab)
            await page.wait_for_timeout(600)
            answers.append(await frame(page))
        figure(
            f"page: answers within {max(answers) * 1000:.0f} ms after 100,000 hostile characters"
        )
        assert max(answers) < 0.1
        assert await page.evaluate("window.pwned") is None
        assert await page.locator("#messages script, #messages img, #messages iframe").count() == 0
        assert await page.locator("#messages a[href^='javascript']").count() == 0
        assert await page.locator("#messages [onload], #messages [onerror]").count() == 0
        assert "<script>" in await page.inner_text("#messages")
        assert await page.locator("#log .line").count() <= 300
        assert await page.locator("#messages .message").count() <= 200
        await page.click("#tab-raw")
        await page.wait_for_selector("#raw-pages:not([hidden])")
        assert await page.locator("#raw span").count() < 7_000
        await page.click("#raw-next")
        await seen.until(
            "document.querySelector('#raw-where').textContent.includes('6000 to 12000')"
        )
        await shoot(page, "hostile")


async def test_a_flood_of_chunks_does_not_freeze_it(look):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        made.scripts["Flood."] = ScriptedProvider([f"w{n} <think>x</think>" for n in range(3_000)])
        await seen.send("Flood.")
        assert await seen.outcome() == "completed"
        assert await frame(seen.page) < 0.1
        await seen.until("window.litStates.at(-1) === 'completed'")
        assert await seen.page.locator("#log .line").count() <= 300


async def test_dark_follows_the_system_and_the_switch(look, shoot):
    async with rig(quick=True) as made, look(made.served.address, color_scheme="dark") as seen:
        page = seen.page
        assert await page.get_attribute("html", "data-theme") == "dark"
        await seen.send("Show me what you can do.")
        await seen.outcome()
        await page.wait_for_timeout(1_200)
        await shoot(page, "dark")
        ground = "getComputedStyle(document.querySelector('.card')).backgroundColor"
        dark = await page.evaluate(ground)
        await page.click("#theme")
        assert await page.get_attribute("html", "data-theme") == "light"
        assert await page.evaluate(ground) != dark
        await page.reload()
        await page.wait_for_selector("html[data-ready=yes]")
        assert await page.get_attribute("html", "data-theme") == "light"
        assert await page.get_attribute("#theme", "aria-pressed") == "false"


# Tabs that somebody would have to scroll sideways for.
CUT_OFF = """() => [...document.querySelectorAll('[role=tab], .seg button')].filter((one) => {
  one.closest('.card').scrollIntoView();
  const [own, row] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
  const top = document.elementFromPoint(own.right - 3, own.top + own.height / 2);
  return own.left < row.left || own.right > row.right || top !== one;
}).map((one) => one.id)"""


@pytest.mark.parametrize("width", [320, 360, 390, 820, 1280, 1440])
async def test_every_tab_is_in_sight_at_once(look, width):
    screen = {"width": width, "height": 844}
    async with rig(quick=True) as made, look(made.served.address, viewport=screen) as seen:
        assert await seen.page.locator("#chart-tabs [role=tab]").count() == len(chart_names())
        assert await seen.page.evaluate(CUT_OFF) == []


async def test_on_a_phone_it_is_one_column(look, shoot):
    async with (
        rig(quick=True) as made,
        look(
            made.served.address, viewport={"width": 375, "height": 800}, device_scale_factor=2
        ) as seen,
    ):
        page = seen.page
        await seen.send("Show me what you can do.")
        await seen.outcome()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 375
        boxes = [
            await page.locator(one).bounding_box() for one in (".channel", ".machine", ".side")
        ]
        assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
        assert all(one["width"] > 330 for one in boxes)
        await shoot(page, "phone")
        await page.locator(".machine").scroll_into_view_if_needed()
        await shoot(page, "phone-chart")


async def test_everything_can_be_reached_by_key(look):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        page = seen.page
        await seen.send("Hello?")
        await seen.outcome()
        met = set()
        for _ in range(60):
            await page.keyboard.press("Tab")
            met.add(await page.evaluate("document.activeElement.id"))
        wanted = {"streams", "save", "load", "theme", "messages", "box", "send", "chart-stream"}
        assert wanted | {"fit", "read", "picture", "first", "slider", "tab-log", "log"} <= met
        await page.focus("#box")
        await page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert await page.evaluate(outline) != "none"


async def test_controls_have_names(look):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        nameless = await seen.page.evaluate(
            """() => [...document.querySelectorAll('button, select, input, textarea, [role=tab]')]
              .filter(e => !e.hidden && !(e.getAttribute('aria-label') || e.innerText.trim() || e.title
                || e.closest('label')?.innerText.trim()))
              .map(e => e.outerHTML)"""
        )
        assert nameless == []


async def test_without_the_key_there_is_only_a_hint(browser):
    async with rig(quick=True) as made:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(made.served.address.split("?")[0])
        assert "key" in await page.inner_text("body")
        assert "{" not in await page.inner_text("body")
        # What a browser asks for by itself is there, or its console would complain.
        icon = await context.request.get(f"http://127.0.0.1:{made.served.port}/favicon.ico")
        assert icon.ok
        await context.close()
