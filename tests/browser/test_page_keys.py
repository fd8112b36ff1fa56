"""The page by keyboard alone, and for eyes that need contrast."""

from __future__ import annotations

import pytest

from support.page import rig

pytestmark = pytest.mark.anyio

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
        # Colours fade from one to the next; half-way they are neither.
        await page.emulate_media(reduced_motion="reduce")

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
