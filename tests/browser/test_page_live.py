"""The page while things happen: replies stream in, are stopped, break off, and are hostile."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest

from browser.conftest import MOVING
from minamo.bot.demo.demo import demo_world
from minamo.bot.demo.provider import DemoProvider
from minamo.inspect.hub import Hub
from minamo.inspect.server import serve
from minamo.machine import chart_names
from minamo.shell.providers.scripted import ScriptedProvider
from support.page import HOSTILE, rig

pytestmark = pytest.mark.anyio


async def test_a_reply_streams_in_and_its_states_are_lit(look, shoot):
    async with rig(quick=True) as made, look(made.served.address, **MOVING) as seen:
        await seen.send("Show me what you can do.")
        assert await seen.outcome() == "completed"
        texts = await seen.texts()
        assert texts[0] == "Show me what you can do."
        assert texts[1] == "Here is the lake this morning, as it was:"
        assert texts[-1] == "That is all for today."
        assert not [one for one in texts if "Nothing secret" in one or "Ann likes" in one]
        await seen.until("window.litStates.at(-1) === 'completed'")
        lit = await seen.lit()
        at = -1
        for state in (
            "opening",
            "in_think",
            "streaming",
            "in_code",
            "in_details",
            "completing",
            "completed",
        ):
            assert state in lit[at + 1 :], f"{state} after {lit[: at + 1]} in {lit}"
            at = lit.index(state, at + 1)
        assert await seen.page.locator("#messages pre .tok-keyword").count() > 3
        assert await seen.page.locator("#messages .app").first.inner_text() == "APP"
        assert await seen.page.locator("#messages .reply").count() == 1
        assert await seen.page.locator(".receipts .is-delivered").count() == len(texts) - 1
        await shoot(seen.page, "light")


async def test_stop_ends_it(look):
    async with rig() as made, look(made.served.address) as seen:
        assert await seen.page.locator("#stop").is_disabled()
        await seen.send("Tell me a long story.")
        await seen.page.locator("#messages .message").nth(1).wait_for()
        await seen.page.click("#stop")
        assert await seen.outcome() == "stopped by user"
        assert await seen.page.locator("#stop").is_disabled()
        assert "stop" in await seen.page.inner_text("#log .stop")
        count = len(await seen.texts())
        await seen.page.wait_for_timeout(400)
        assert len(await seen.texts()) == count


async def test_writing_while_it_runs_is_a_follow_up(look):
    async with rig() as made, look(made.served.address) as seen:
        await seen.send("Tell me a long story.")
        await seen.page.locator("#messages .message").nth(1).wait_for()
        assert await seen.page.inner_text("#send") == "Follow up"
        assert "takes its place" in await seen.page.inner_text("#hint")
        await seen.send("What is that?")
        assert await seen.outcome(2) == "completed"
        assert "follow up interrupt" in await seen.page.inner_text("#messages")
        assert (await seen.texts())[-1] == "You said: What is that?"
        assert await seen.page.inner_text("#send") == "Send"


async def test_prompts_typing_clocks_and_failures(look):
    settings = {"inactivity_timeout_ms": 900}
    async with rig(**settings) as made, look(made.served.address) as seen:
        await seen.page.click("text=Fall silent")
        await seen.until(
            "document.querySelector('#clock-inactivity .left').textContent.startsWith('0.')"
        )
        await seen.until("document.querySelector('#typing').textContent.includes('is typing')")
        assert await seen.outcome() == "timeout"
        await seen.page.click("text=Break in the middle")
        assert await seen.outcome(2) == "error"
        await seen.page.click("text=Say nothing")
        assert await seen.outcome(3) == "empty response"
        await seen.until("window.litStates.at(-1) === 'empty_response'")
        assert "took" in await seen.page.inner_text("#clock-deadline")


async def test_a_page_that_only_looks(look):
    async with rig(read_only=True) as made, look(made.served.address) as seen:
        assert await seen.page.locator("#composer").is_hidden()
        assert await seen.page.locator("#readonly").is_visible()
        await made.say("Hello?")
        assert await seen.outcome() == "completed"
        assert await seen.texts() == ["Hello?", "You said: Hello?"]


async def test_one_that_comes_later_sees_what_was(look):
    async with rig(quick=True) as made:
        async with look(made.served.address) as first:
            await first.send("Hello?")
            await first.outcome()
        async with look(made.served.address) as later:
            assert await later.outcome() == "completed"
            assert await later.texts() == ["Hello?", "You said: Hello?"]
            assert (await later.lit())[-1] == "completed"
            assert await later.page.locator("#log .line").count() > 3


async def test_the_other_charts(look):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        await seen.page.click("#chart-delivery")
        await seen.page.wait_for_selector("#picture #state-reconciling")
        await seen.send("Hello?")
        await seen.page.wait_for_selector("#picture #state-delivered.lit")
        assert "Discord has it" in await seen.page.inner_text("#now")
        names = await seen.page.locator("#chart-tabs [role=tab]").all_inner_texts()
        assert names[0] == "stream"
        assert {"delivery", "turn", "channel"} <= set(names)


async def test_the_demo_answers_and_its_button_stops_it(look, shoot):
    hub = Hub(recording=True)
    async with (
        demo_world(hub=hub, provider=DemoProvider(pace=0.4)) as world,
        serve(hub, actions=world) as served,
        look(served.address) as seen,
    ):
        page = seen.page
        await page.locator(".chip", has_text="A slow reply").click()
        stop = page.locator("#messages [data-button]")
        await stop.wait_for()
        assert await stop.inner_text() == "Stop"
        await page.click("#chart-turn")
        await page.wait_for_selector("#picture #state-streaming.lit")
        await page.click("#chart-channel")
        await page.wait_for_selector("#picture #state-busy.lit")
        await page.click("#chart-stream")
        await shoot(page, "demo")
        await stop.click()
        assert await seen.outcome() == "stopped by user"
        await stop.wait_for(state="detached")
        assert "@minamo" in (await seen.texts())[0]


FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
# Three hundred milliseconds on the wall are more than a hundred of the processor, also beside other tests.
BUSY = """() => requestAnimationFrame(function busy() {
  const end = performance.now() + 300;
  while (performance.now() < end);
  requestAnimationFrame(busy);
})"""


async def frame(page, count=15) -> float:
    """Return the processor seconds of the page's main thread for a usual frame and its answer.

    A clock on the wall would measure the other tests on the machine as well.
    """
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent = [await busy(session)]
    for _ in range(count):
        await page.evaluate(FRAME)
        spent.append(await busy(session))
    await session.detach()
    return median(later - sooner for sooner, later in pairwise(spent))


async def busy(session) -> float:
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


async def test_a_page_that_is_busy_in_each_frame_is_found(look):
    async with rig(quick=True) as made, look(made.served.address, **MOVING) as seen:
        assert await frame(seen.page) < 0.1
        await seen.page.evaluate(BUSY)
        assert await frame(seen.page, 5) > 0.1


async def test_a_hostile_reply_does_nothing_and_freezes_nothing(look, figure, shoot):
    assert len(HOSTILE) > 95_000
    async with rig(quick=True) as made, look(made.served.address, **MOVING) as seen:
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
            f"page: {max(answers) * 1000:.0f} ms of the processor a frame after 100,000 hostile characters"
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
    async with rig(quick=True) as made, look(made.served.address, **MOVING) as seen:
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


# Tabs that a reader would have to scroll sideways for.
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
