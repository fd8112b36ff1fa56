"""What a first visitor meets: nothing moves, nothing is cut off; by keyboard alone, and with contrast."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from minamo.inspect.server import serve
from minamo.machine import chart_names
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import Twin
from support.bot import on_command, rigged, streaming
from support.page import rig

pytestmark = pytest.mark.anyio
DESK = {"viewport": {"width": 1280, "height": 720}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
KEY = "a key of sixteen or more"
TOUR = "Show me what you can do."
STORY = "Tell me a long story."
# Every name in the picture: its height on the screen, and whether it is inside its own box.
NAMES = """() => [...document.querySelectorAll('#picture .state')].map((state) => {
  const name = state.querySelector(':scope > .name').getBoundingClientRect();
  const box = state.querySelector(':scope > .leaf, :scope > .frame').getBoundingClientRect();
  const pane = document.querySelector('#picture').getBoundingClientRect();
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  const scale = document.querySelector('#picture svg').getScreenCTM().a;
  return [parseFloat(getComputedStyle(state.querySelector(':scope > .name')).fontSize) * scale,
          inside(name, box) && inside(box, pane)];
})"""
SMALL = """() => [...document.querySelectorAll('button, select, [role=tab]')]
  .filter((one) => one.offsetParent)
  .map((one) => [one.id || one.textContent, Math.round(one.getBoundingClientRect().height)])
  .filter(([, height]) => height < 40)"""


async def box_of(page: Any, selector: str) -> dict[str, float]:
    found = await page.locator(selector).first.bounding_box()
    assert found is not None
    return {key: round(value) for key, value in found.items()}


async def test_prompts_stay_where_they_are_while_a_reply_begins_and_ends(look):
    async with rig() as made, look(made.served.address, **DESK) as seen:
        page = seen.page
        before = await box_of(page, "#prompts .chip")
        await page.click("#prompts .chip >> text=Tell me a long story")
        await page.wait_for_selector("#composer.busy")
        assert await box_of(page, "#prompts .chip") == before
        end = "(() => { const l = document.querySelector('#messages'); return l.scrollHeight - l.scrollTop - l.clientHeight; })()"
        await page.locator("#messages .message").nth(2).wait_for()
        await seen.until(f"{end} < 2")
        await page.click("#stop")
        assert await seen.outcome() == "stopped by user"
        assert await box_of(page, "#prompts .chip") == before


async def test_a_server_that_is_gone_is_said_to_be_gone_and_found_again(look, shoot):
    async with rig() as made, AsyncExitStack() as servers:
        served = await servers.enter_async_context(serve(made.hub, key=KEY, actions=made))
        async with look(served.address, **DESK) as seen:
            page = seen.page
            await seen.send(STORY)
            await page.locator("#messages .message").nth(1).wait_for()
            await servers.aclose()
            await page.wait_for_selector("#lost:not([hidden])")
            assert "cannot be reached" in await page.inner_text("#lost")
            assert await page.inner_text("#link-words") == "not connected"
            assert await page.inner_text("#step") == "not live"
            assert await page.locator("#prompts .chip").first.is_disabled()
            assert await page.locator("#stop").is_disabled()
            await page.wait_for_timeout(150)
            clocks = await page.inner_text("#clocks")
            await page.wait_for_timeout(400)
            assert await page.inner_text("#clocks") == clocks  # they stand still
            await shoot(page, "lost")
            async with serve(made.hub, key=KEY, port=served.port, actions=made):
                await page.wait_for_selector("#link[data-link=open]", timeout=10_000)
                assert await page.locator("#lost").is_hidden()
                assert await page.locator("#prompts .chip").first.is_enabled()
                await page.click("#stop")
                assert await seen.outcome() == "stopped by user"
            async with serve(made.hub, key=f"not {KEY}", port=served.port):
                await page.wait_for_selector("#link[data-link=refused]", timeout=10_000)
                assert "another key" in await page.inner_text("#lost")
            seen.complaints.clear()  # the browser notes each attempt by itself


async def test_time_travel_covers_clocks_lane_charts_and_the_face(look, shoot):
    async with rig(quick=True) as made, look(made.served.address, **DESK) as seen:
        page = seen.page
        await seen.send(TOUR)
        assert await seen.outcome() == "completed"
        receipts = await page.locator("#lane .receipts li").count()
        face = await page.locator("#messages .avatar").last.inner_text()
        await page.click("#chart-delivery")
        await page.wait_for_selector("#picture #state-delivered.lit")
        await page.click("#first")
        await seen.until("document.querySelector('#step').textContent.startsWith('0 /')")
        assert await page.inner_text("#now-state") == "no delivery at this step"
        assert await page.locator("#picture .lit").count() == 0
        assert "no receipts yet" in await page.inner_text("#lane")
        clocks = await page.inner_text("#clocks")
        assert "8.00 s" in clocks  # nothing has come
        assert "came after" not in clocks
        assert "took" not in clocks
        for _ in range(200):
            if await page.locator("#past .avatar").count():
                break
            await page.keyboard.press("ArrowRight")
            await page.wait_for_timeout(5)
        assert await page.locator("#past .avatar").first.inner_text() == face
        assert "came after" in await page.inner_text("#clocks")
        await shoot(page, "travel-delivery")
        await page.click("#last")
        await page.wait_for_selector("#picture #state-delivered.lit")
        assert await page.locator("#lane .receipts li").count() == receipts
        assert "took" in await page.inner_text("#clocks")
        await page.click("#back-live")
        await page.wait_for_selector("#picture #state-delivered.lit")
        assert await page.inner_text("#step") == "live"


async def test_a_loaded_file_shows_its_whole_way_and_back_to_now_leaves_it(look, tmp_path):
    async with rig(quick=True) as made, look(made.served.address, **DESK) as seen:
        page = seen.page
        await seen.send(TOUR)
        assert await seen.outcome() == "completed"
        chunks = [{"chunk": {"type": "text", "content": "<think>hm</think>"}}]
        chunks += [{"chunk": {"type": "text", "content": f"Word {n}. "}} for n in range(90)]
        file = tmp_path / "long.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in (*chunks, {"end": True})))
        await page.set_input_files("#file", file)
        await seen.until("document.querySelector('#streams').value === 'file:long.jsonl'")
        way = await page.locator("#way span").all_inner_texts()
        states = await page.evaluate("minamo.state.loaded.get('long.jsonl').summary.states")
        assert way == states
        assert way[:3] == ["opening", "in_think", "streaming"]
        assert "no lane" in await page.inner_text("#lane")
        assert "–" not in (await page.inner_text("#clocks")).split("\n")[1]
        assert await page.locator("#save").is_disabled()
        await page.click("#back-live")
        assert await page.input_value("#streams") == "1"
        assert await page.locator("#save").is_enabled()
        wrong = tmp_path / "bad.json"
        wrong.write_text('{"hello": 1}\n')
        await page.set_input_files("#file", wrong)
        await seen.until("document.querySelector('#toast.shown') !== null")
        said = await page.inner_text("#toast")
        assert said.startswith(
            "bad.json: line 1: unknown key 'hello' in a line; known are t, chunk"
        )
        await page.wait_for_timeout(250)
        toast, buttons = await box_of(page, "#toast"), await box_of(page, ".travel")
        assert toast["y"] + toast["height"] < buttons["y"]
        seen.complaints.clear()  # the browser notes the refusal by itself


@pytest.mark.parametrize("place", [DESK, PHONE], ids=["desk", "phone"])
async def test_the_chart_is_legible_and_every_chart_has_a_tab(look, shoot, place):
    async with rig(quick=True) as made, look(made.served.address, **place) as seen:
        page = seen.page
        tabs = await page.locator("#chart-tabs [role=tab]").all_inner_texts()
        assert sorted(tabs) == sorted(chart_names())
        for name in tabs:
            await page.click(f"#chart-{name}")
            await page.wait_for_selector(f"#picture svg:has(title:text-is('{name}: statechart'))")
            names = await page.evaluate(NAMES)
            assert len({round(size, 1) for size, _ in names}) == 1, name  # one size of letters
            assert names[0][0] >= 10, name
            assert all(inside for _, inside in names), name
            await shoot(page, f"fit-{name}-{place['viewport']['width']}")
        cut = "(() => { const list = document.querySelector('#chart-tabs'); return list.scrollWidth - list.clientWidth; })()"
        assert await page.evaluate(cut) <= 0  # no tab is cut off


async def test_a_phone_has_targets_for_fingers_and_nothing_is_cut_off(look, shoot):
    async with rig(quick=True) as made, look(made.served.address, **PHONE) as seen:
        page = seen.page
        assert await page.evaluate(SMALL) == []
        await seen.send("Fall silent.")
        await page.wait_for_selector("#composer.busy")
        assert await page.inner_text("#hint-state") != ""  # press and effect in one sight
        await seen.send(TOUR)
        assert await seen.outcome(2) == "completed"
        assert await seen.outcome(1) == "follow up interrupt"
        assert await page.evaluate(SMALL) == []
        for wide in ("#messages", "#messages pre", "body"):
            over = f"[...document.querySelectorAll('{wide}')].every((one) => one.scrollWidth <= one.clientWidth)"
            assert await page.evaluate(over), wide
        for line in await page.locator(".outcome button").all():
            rect = await line.bounding_box()
            assert rect["x"] >= 0
            assert rect["x"] + rect["width"] <= 390
        await shoot(page, "phone-outcomes")


async def test_words_are_explained_and_the_prompts_come_early_by_keyboard(look):
    async with rig(quick=True) as made, look(made.served.address, **DESK) as seen:
        page = seen.page
        for _ in range(3):
            await seen.send(TOUR)
            await page.wait_for_selector("#composer.busy")
            await page.wait_for_selector("#composer:not(.busy)")
        explained = await page.locator("abbr[title], [title].line *, #log-head [title]").all()
        words = {(await one.inner_text()).lower() for one in explained}
        assert {"clocks", "lane", "0 characters held", "characters", "time"} <= words
        assert any("delivered" in word for word in words)
        await page.click("#tab-compare")
        await page.locator("#compared").get_by_text("seam:").first.wait_for()
        title = await page.locator("#compared").get_by_text("seam:").first.get_attribute("title")
        assert title.startswith("White space")
        await page.locator(".skip").focus()
        reached = []
        for _ in range(10):
            await page.keyboard.press("Tab")
            reached.append(
                await page.evaluate(
                    "document.activeElement.className || document.activeElement.outerHTML"
                )
            )
        assert "chip" in reached


async def test_there_is_a_sign_while_the_chart_is_fetched(look, browser):
    async with rig(quick=True) as made:
        context = await browser.new_context(**DESK)
        page = await context.new_page()
        hold = asyncio.Event()

        async def wait(route: Any) -> None:
            await hold.wait()
            await route.continue_()

        await page.route("**/api/charts/**", wait)
        await page.goto(made.served.address)
        await page.wait_for_selector("html[data-ready=yes]")
        assert await page.inner_text("#picture") == "Drawing the chart …"
        hold.set()
        await page.wait_for_selector("#picture svg")
        await context.close()


async def test_a_visitor_finds_the_replies_of_before(look):
    async with Twin() as twin, rigged(twin, streaming(["Said early."]), inspect=True) as made:
        await made.client.orchestrator()
        await made.ask("hello")
        async with look(made.client.page) as seen:
            assert await seen.outcome() == "completed"
            assert "Said early." in await seen.texts()
            assert await seen.page.inner_text("#now-state") == "completed"


async def test_the_charts_of_edits_and_interactions_light_up(look, shoot):
    slowly = [(0.3, "Some words. "), (0.3, "Some more.")]
    async with Twin() as twin, rigged(twin, streaming(slowly, edit=True), inspect=True) as made:
        await made.client.orchestrator()
        async with look(made.client.page, **DESK) as seen:
            page = seen.page
            await page.click("#chart-edit")
            asking = asyncio.ensure_future(made.ask("hello"))
            await page.wait_for_selector("#picture .state.lit")
            await asking
            on_command(made, lambda used: made.client.stream(used, ScriptedProvider(["Yes."])))
            await page.click("#chart-interaction")
            await twin.slash("ask")
            named = "svg:has(title:text-is('interaction: statechart'))"
            await page.wait_for_selector(f"#picture {named} .state.lit")
            await shoot(page, "interaction")
            await made.until(lambda: len(made.results) == 2)


ACTIVE = "document.activeElement.id || document.activeElement.className"
TABS_MAX = 40
# The WCAG's figure for text (level AA).
CONTRAST_MIN = 4.5

# Every text that is seen, with the colour behind it.  Three kinds are dim on purpose: what is
# disabled, what had not come yet at the step one looks at, and a spoiler that is shut.
CONTRAST = """() => {
  const part = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255);
  const read = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => [0, 1, 2].map((n) => top[n] * top[3] + under[n] * (1 - top[3]));
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(read(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const poor = [];
  let seen = 0;
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, .later, .fate-future, :disabled, .md-spoiler:not(.open), .gutter, .sr, .toast, option')) continue;
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const ground = behind(element);
    const [a, b] = [light(over(read(getComputedStyle(element).color), ground)), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    seen++;
    if (ratio < LIMIT) poor.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ${element.textContent.slice(0, 30)}`);
  }
  return [seen, [...new Set(poor)]];
}""".replace("LIMIT", str(CONTRAST_MIN))

# All colours of names and faces, not only those of who happens to speak.
PALETTE = """() => {
  const home = document.querySelector('#messages');
  for (let n = 0; n < 12; n++) {
    for (const kind of ['tint', 'ink']) {
      const one = document.createElement('span');
      one.className = kind === 'tint' ? `avatar tint-${n}` : `ink-${n}`;
      one.textContent = 'Mm';
      home.append(one);
    }
  }
}"""


async def tab_to(page, wanted: str, *, back: bool = False) -> None:
    for _ in range(TABS_MAX):
        if await page.evaluate(ACTIVE) == wanted:
            return
        await page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{wanted} cannot be reached, but {await page.evaluate(ACTIVE)}")


async def test_a_visit_by_keyboard_alone(look):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        page = seen.page
        # The first thing leads past everything to the box.
        await page.keyboard.press("Tab")
        assert await page.evaluate(ACTIVE) == "skip"
        await page.keyboard.press("Enter")
        await page.keyboard.type("Hello?")
        await page.keyboard.press("Shift+Enter")
        await page.keyboard.type("Anybody?")
        await page.keyboard.press("Enter")
        assert await seen.outcome() == "completed"
        assert (await seen.texts())[0] == "Hello?\nAnybody?"

        # A prompt is a button before the box.
        await tab_to(page, "chip", back=True)
        await page.keyboard.press("Enter")
        assert await seen.outcome(2) == "completed"

        # Charts are tabs that arrows move through.
        await tab_to(page, "chart-stream")
        await page.keyboard.press("ArrowRight")
        assert await page.evaluate(ACTIVE) == "chart-turn"
        await page.wait_for_selector("#chart-turn[aria-selected=true]")
        await page.keyboard.press("ArrowLeft")

        # Back in time and forth, and out again.
        await tab_to(page, "first")
        await page.keyboard.press("Enter")
        await seen.until("document.querySelector('#step').textContent.startsWith('0 /')")
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("ArrowRight")
        await seen.until("document.querySelector('#step').textContent.startsWith('2 /')")
        assert "step 2 of" in await page.get_attribute("#slider", "aria-valuetext")
        await page.keyboard.press("End")
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("Home")
        await seen.until("document.querySelector('#step').textContent.startsWith('0 /')")
        await page.keyboard.press("Escape")
        await seen.until("document.querySelector('#step').textContent === 'live'")

        # Why, and back to where one was.
        await tab_to(page, "tab-log")
        await page.keyboard.press("ArrowRight")
        await tab_to(page, "raw")
        await page.wait_for_selector("#raw .fate-message")
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#why:not([hidden])")
        assert await page.locator("#why").get_attribute("role") == "dialog"
        await page.keyboard.press("Escape")
        assert await page.locator("#why").is_hidden()
        assert await page.evaluate(ACTIVE) == "raw"


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_text_has_contrast(look, theme):
    async with rig(quick=True) as made, look(made.served.address, color_scheme=theme) as seen:
        page = seen.page
        found = {}

        async def check(where: str, least: int = 30) -> None:
            count, poor = await page.evaluate(CONTRAST)
            assert count > least, where
            found.update(dict.fromkeys(poor, where))

        await check("before anything", 15)
        await page.click("text=Fall silent")
        await page.wait_for_selector("#composer.busy")
        await check("while it runs")
        await page.click("#stop")
        await seen.outcome()
        await seen.send("Show me what you can do.")
        await seen.outcome(2)
        await page.locator("#messages .md-spoiler").first.click()
        await page.evaluate(PALETTE)
        await check("the channel and the log")
        await page.click("#tab-raw")
        await page.locator("#raw [data-reason=marker]").first.click()
        await check("characters and why")
        await page.keyboard.press("Escape")
        await page.click("#tab-thoughts")
        await check("what is hidden")
        await page.click("#tab-compare")
        await check("compare")
        await page.click("#tab-log")
        await page.click("#prev")
        await page.wait_for_selector("#back:not([hidden])")
        await check("looking back")
        assert found == {}
