"""The page over the real bot, as `minamo run` without a token shows it."""

from __future__ import annotations

import pytest

from minamo.bot.demo.demo import demo_world
from minamo.bot.demo.provider import DemoProvider
from minamo.inspect.hub import Hub
from minamo.inspect.server import serve

pytestmark = pytest.mark.anyio


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
