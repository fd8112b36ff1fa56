"""The page as an instrument: stepping back, asking why, comparing; and a bot author's own page."""

from __future__ import annotations

import json
import struct
import zlib
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings

from browser.screenshots import DESK, PHONE, take_all
from minamo import OpenAICompatible
from minamo.core.trace import read_trace
from minamo.inspect.replay import replay
from minamo.testing.strategies import markdown_texts, texts
from minamo.twin import Twin
from support.bot import rigged, streaming
from support.page import TOUR, rig
from support.provider_server import saying, serving

pytestmark = pytest.mark.anyio

TOUR_TEXT = "Show me what you can do."


async def toured(seen):
    await seen.send(TOUR_TEXT)
    await completed(seen)


async def completed(seen):
    assert await seen.outcome() == "completed"
    await seen.until("window.litStates.at(-1) === 'completed'")


@pytest.fixture(scope="module")
async def tour():
    """The address of a page whose bot has given the tour, for tests that only look at it."""
    async with rig(quick=True) as made:
        await made.say(TOUR_TEXT)
        yield made.served.address


async def test_stepping_back_shows_an_earlier_state(look, shoot):
    async with rig(quick=True) as made, look(made.served.address) as seen:
        await toured(seen)
        page = seen.page
        await page.click("#first")
        await page.wait_for_selector("#picture #state-opening.lit")
        assert (await page.inner_text("#step")).startswith("0 / ")
        assert await page.locator("#past .message").count() == 0
        last = int((await page.inner_text("#step")).split("/")[1])
        await page.evaluate(
            "n => { const s = document.querySelector('#slider'); s.value = n; s.dispatchEvent(new Event('input')); }",
            5,
        )
        await page.wait_for_selector("#picture #state-in_think.lit")
        assert await page.locator("#past .is-thought").count() == 1
        while "in_code" not in await page.inner_text("#now-state"):
            await page.keyboard.press("ArrowRight")
            await page.wait_for_timeout(10)
        assert "held" in await page.inner_text("#past .is-held")
        assert (
            0 < await page.locator("#log .later").count() < await page.locator("#log .line").count()
        )
        shown = await page.locator("#past .message").count()
        await shoot(page, "travel")
        await page.keyboard.press("End")
        await seen.until(f"document.querySelector('#step').textContent === '{last} / {last}'")
        assert await page.locator("#past .message").count() > shown
        await page.keyboard.press("ArrowLeft")
        await page.wait_for_selector("#picture #state-streaming.lit")
        await page.keyboard.press("Escape")
        await page.wait_for_selector("#picture #state-completed.lit")
        assert await page.inner_text("#step") == "live"
        assert await page.locator("#log .later").count() == 0
        assert await page.locator("#messages").is_visible()


async def test_why_names_the_rule_of_a_hidden_character(look, tour, shoot):
    async with look(tour) as seen:
        await completed(seen)
        page = seen.page
        await page.click("#tab-raw")
        await page.locator("#raw [data-reason=marker]").first.click()
        told = await page.inner_text("#why")
        assert "Not shown" in told
        assert "marker" in told
        await shoot(page, "why")
        await page.keyboard.press("Escape")
        assert await page.locator("#why").is_hidden()
        await page.locator("#raw .fate-thought").first.click()
        assert "never shown" in await page.inner_text("#why")
        await page.keyboard.press("Escape")
        await page.locator("#raw [data-reason='clean.table']").first.click()
        assert "redrawn" in await page.inner_text("#why")
        # The whole text is there, hidden or not.
        raw = await page.evaluate("document.querySelector('#raw').textContent")
        assert raw.replace("↵", "") == TOUR


async def test_why_of_characters_in_the_channel(look, tour):
    async with look(tour) as seen:
        await completed(seen)
        page = seen.page
        await page.locator("#messages strong", has_text="as it was").click(
            position={"x": 3, "y": 8}
        )
        await page.wait_for_selector("#why:not([hidden])")
        told = await page.inner_text("#why")
        assert "“a”" in told
        assert "message 1" in told
        at = TOUR.index("as it was")
        assert f"character {at + 1} of the stream" in told
        await page.keyboard.press("Escape")
        await page.locator("#messages pre", has_text="ripples").first.click(
            position={"x": 14, "y": 38}
        )
        assert "Part of the drawing of a table" in await page.inner_text("#why")
        await page.keyboard.press("Escape")
        await (
            page.locator("#messages .message", has_text="Show me what")
            .locator(".text")
            .first.click(position={"x": 10, "y": 8})
        )
        assert "ann wrote this" in await page.inner_text("#why")


async def test_keys_are_enough_to_ask_why(look, tour):
    async with look(tour) as seen:
        await completed(seen)
        page = seen.page
        await page.focus("#tab-log")
        await page.keyboard.press("ArrowRight")
        assert await page.get_attribute("#tab-raw", "aria-selected") == "true"
        await page.wait_for_selector("#raw .fate-thought")
        await page.focus("#raw")
        for _ in range(8):
            await page.keyboard.press("ArrowRight")
        await page.keyboard.press("Enter")
        assert "never shown" in await page.inner_text("#why")
        await page.keyboard.press("Escape")
        assert await page.evaluate("document.activeElement.id") == "raw"


async def test_a_spoiler_opens_when_pressed(look, tour):
    async with look(tour) as seen:
        await completed(seen)
        spoiler = seen.page.locator("#messages .md-spoiler")
        assert "open" not in (await spoiler.get_attribute("class")).split()
        await spoiler.focus()
        await seen.page.keyboard.press("Enter")
        assert "open" in (await spoiler.get_attribute("class")).split()


async def test_save_load_and_compare(look, tmp_path, shoot):
    async with rig(quick=True) as made, look(made.served.address, accept_downloads=True) as seen:
        await toured(seen)
        page = seen.page
        async with page.expect_download() as waiting:
            await page.click("#save")
        saved = tmp_path / "tour.jsonl"
        await (await waiting.value).save_as(saved)
        replayed = replay(read_trace(saved.read_text().split("\n")))
        assert replayed.result.status == "completed"
        other = tmp_path / "other.jsonl"
        lines = [{"chunk": {"type": "text", "content": "Here is the lake tonight."}}, {"end": True}]
        other.write_text("".join(json.dumps(one) + "\n" for one in lines))
        await page.set_input_files("#file", [saved, other])
        await seen.until("document.querySelector('#streams').value === 'file:other.jsonl'")
        assert await page.locator("#past .message").count() == 1
        # What happened is the file's, and not that of the stream behind it.
        assert "lake tonight" in await page.locator("#log .chunk").inner_text()
        assert "A file has no lane" in await page.inner_text("#lane")
        await page.click("#first")
        await seen.until("document.querySelectorAll('#log .line:not(.later)').length === 0")
        await page.click("#tab-compare")
        await page.select_option("#compare-a", "file:tour.jsonl")
        await page.select_option("#compare-b", "1")
        await page.wait_for_selector("#compared .same.yes")
        await page.select_option("#compare-b", "file:other.jsonl")
        await page.wait_for_selector("#compared .same.no")
        assert "messages" in await page.inner_text("#compared .same")
        assert "his morning" in " ".join(await page.locator("#compared mark").all_inner_texts())
        await shoot(page, "compare")
        broken = tmp_path / "broken.jsonl"
        broken.write_text('{"what": 1}\n')
        await page.set_input_files("#file", broken)
        await seen.until("document.querySelector('#toast').textContent.includes('line 1')")
        seen.complaints.clear()  # the browser notes the refusal by itself


async def test_the_hidden_text_is_kept_in_sight(look, tour):
    async with look(tour) as seen:
        await completed(seen)
        await seen.page.click("#tab-thoughts")
        await seen.page.wait_for_selector("#thoughts .is-thought")
        told = await seen.page.inner_text("#thoughts")
        assert "Nothing secret." in told
        assert "Ann likes lakes." in told
        assert "marker" in told


async def test_looking_back_while_it_runs(look):
    async with rig() as made, look(made.served.address) as seen:
        await seen.send("Tell me a long story.")
        await seen.page.locator("#messages .message").nth(1).wait_for()
        await seen.page.click("#last")
        await seen.page.wait_for_selector("#past .is-held")
        await seen.page.wait_for_selector("#picture #state-streaming.lit")
        before = await seen.page.inner_text("#step")
        await seen.page.wait_for_timeout(300)
        assert await seen.page.inner_text("#step") == before  # what comes meanwhile waits
        await seen.page.click("#back-live")
        await seen.page.click("#stop")
        assert await seen.outcome() == "stopped by user"
        await seen.until("window.litStates.at(-1) === 'stopped_by_user'")


# The elements that matter, without what is the same for all of them.
DRAW = """async ([text, names]) => {
  const { markdown } = await import('/page/markdown.js');
  const { originOf } = await import('/page/inline.js');
  const home = document.createElement('div');
  home.append(markdown(text, names));
  const walk = document.createTreeWalker(home, NodeFilter.SHOW_TEXT);
  const wrong = [];
  let last = -1;
  while (walk.nextNode()) {
    const node = walk.currentNode, at = originOf(node);
    if (at === undefined || at < last) wrong.push([node.data, at]);
    const token = text[at] === '<' && !text.startsWith(node.data, at);
    if (at !== undefined && !token && !text.startsWith(node.data, at)) wrong.push([node.data, at]);
    last = at ?? last;
  }
  for (const one of home.querySelectorAll('*')) {
    for (const name of ['tabindex', 'role', 'aria-label', 'target', 'rel', 'title']) one.removeAttribute(name);
  }
  return [home.innerHTML, wrong];
}"""

CASES = {
    "plain": "plain",
    "**bold** *it* _it_ __under__ ~~gone~~": "<strong>bold</strong> <em>it</em> <em>it</em> <u>under</u> <s>gone</s>",
    "***both*** **a *b* c**": "<strong><em>both</em></strong> <strong>a <em>b</em> c</strong>",
    "snake_case_word 2 * 3 * 4": "snake_case_word 2 * 3 * 4",
    "\\*not\\* **open": "*not* **open",
    "||hide **this**||": '<span class="md-spoiler">hide <strong>this</strong></span>',
    "`**code**` ``a`b``": '<code class="md-code">**code**</code> <code class="md-code">a`b</code>',
    "# One\n## Two\n### Three\n#four": '<h3 class="md-h1">One</h3><h4 class="md-h2">Two</h4><h5 class="md-h3">Three</h5>#four',
    "-# small\nafter": '<small class="md-sub">small</small>after',
    "> a\n> b\nc": "<blockquote>a<br>b</blockquote>c",
    ">>> all\nof it": "<blockquote>all\nof it</blockquote>",
    "- a\n- **b**\n  - c": '<ul><li>a</li><li><strong>b</strong></li><li class="nested">c</li></ul>',
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "```py\nx = 1\n```after": '<pre><code data-language="py">x = <span class="tok-number">1</span></code></pre>after',
    "a\n```\n<b> **c**\n```": "a<pre><code>&lt;b&gt; **c**</code></pre>",
    "```open": "```open",
    "[label](https://a.invalid/b) https://c.invalid/d.": '<a href="https://a.invalid/b">label</a> <a href="https://c.invalid/d">https://c.invalid/d</a>.',
    "[x](javascript:alert(1)) <javascript:x>": "[x](javascript:alert(1)) &lt;javascript:x&gt;",
    "<@7> <@!8> <#9> <@&5>": '<span class="md-mention">@ann</span> <span class="md-mention">@someone</span> <span class="md-mention">#general</span> <span class="md-mention">@role</span>',
    "<:wave:12> <a:dance:13> </ask me:14>": '<span class="md-emoji">:wave:</span> <span class="md-emoji">:dance:</span> <span class="md-mention">/ask me</span>',
    "<script>alert(1)</script>": "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<https://e.invalid>": '<a href="https://e.invalid">https://e.invalid</a>',
}


@pytest.fixture(scope="module")
async def drawn(browser):
    """Draw a text with the page's own scripts."""
    async with rig(quick=True) as made:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(made.served.address)
        await page.wait_for_selector("html[data-ready=yes]")

        async def draw(text):
            return await page.evaluate(DRAW, [text, {"7": "ann", "9": "general"}])

        yield draw
        await context.close()


@pytest.mark.parametrize("text", CASES)
async def test_markdown(drawn, text):
    html, wrong = await drawn(text)
    assert html == CASES[text]
    assert wrong == []


async def test_timestamps(drawn):
    html, _ = await drawn("<t:1700000000:R> <t:1700000000> <t:99999999999999999>")
    assert html.count('<time class="md-time">') == 3
    assert "ago" in html
    assert "invalid date" in html


async def test_any_text_is_drawn_in_time_and_can_be_followed(drawn):
    found = []

    @settings(max_examples=60)
    @given(texts(5) | markdown_texts(5))
    def collect(text):
        found.append(text[:2000].encode("utf-8", "replace").decode())

    collect()
    for text in found:
        _, wrong = await drawn(text)
        assert wrong == []


CANARY = "sk-canary-3f9a1c77"
WORDS = ["<think>an idea</think>", *[(0.05, f"word{number} ") for number in range(50)]]
WHOLE = " ".join(f"word{number}" for number in range(50))

POST = (
    "path => fetch(`/api/${path}`, {method: 'POST', body: '{\"text\": \"x\"}'}).then(r => r.status)"
)
GET = "path => fetch(`/api/${path}`).then(r => r.text())"


async def answered(page):
    """What the page says of the character that was pressed; it may have to ask first."""
    await page.wait_for_selector("#why:not([hidden])")
    return await page.inner_text("#why")


@asynccontextmanager
async def own_bot(look, answer):
    async with Twin() as twin, rigged(twin, answer, inspect=True) as rig:
        await rig.client.orchestrator()
        assert rig.client.page is not None
        async with look(rig.client.page) as seen:
            yield rig, seen


async def test_it_shows_everything_and_changes_nothing(look):
    script = ["One.\n\n", (0.3, "`Two`."), (0.2, " Three.")]
    async with own_bot(look, streaming(script)) as (rig, seen):
        page = seen.page
        assert await page.locator("#composer").is_hidden()
        assert await page.locator("#readonly").is_visible()
        await rig.ask(f"hello, <@{rig.twin.bot.id}>")
        assert await seen.outcome() == "completed"
        assert await page.inner_text("#channel-title") == "general"  # told before anybody looked
        assert await seen.texts() == [f"hello, @{rig.twin.bot.name}", "One.", "Two. Three."]
        await seen.until("window.litStates.at(-1) === 'completed'")
        assert {"streaming", "completing"} <= set(await seen.lit())
        await page.click("#chart-delivery")
        await page.wait_for_selector("#picture #state-delivered.lit")
        for path in ("say", "stop", "press"):
            assert await page.evaluate(POST, path) == 403, path
        assert len(rig.twin.messages("general")) == 3
        told = [one for one in seen.complaints if "403" in one]
        assert len(told) == 3  # the browser says so of each
        seen.complaints.clear()


async def test_no_key_ever_reaches_the_page(look):
    said = json.dumps({"choices": [{"index": 0, "delta": {"content": "Nothing to see."}}]})
    async with (
        serving(saying(f"data: {said}\n\n".encode(), b"data: [DONE]\n\n")) as server,
        OpenAICompatible(server.url, model="m", api_key=CANARY) as llm,
        own_bot(look, streaming(lambda _: llm.ask("hi"))) as (rig, seen),
    ):
        page = seen.page
        answers = []
        page.on("response", lambda one: answers.append(one))
        await rig.ask("hello")
        assert CANARY in str(server.requests)  # it is in use, and there it may be
        assert await seen.outcome() == "completed"
        found = []
        for tab in ("#tab-log", "#tab-raw", "#tab-thoughts"):
            await page.click(tab)
            found.append(await page.content())
        await page.click("#first")
        await page.wait_for_selector("#back:not([hidden])")
        found.append(await page.content())
        found.append(await page.evaluate("JSON.stringify([...window.minamo.state.streams])"))
        asked = ("about", "streams/1/look", "streams/1/why", "streams/1/trace")
        found += [await page.evaluate(GET, path) for path in asked]
        # What is live never ends, and is what the page's own state was made of.
        found += [await one.text() for one in answers if "/api/live" not in one.url]
        assert len(found) > 9
        assert any("Nothing to see." in one for one in found)
        assert not [one for one in found if CANARY in one or rig.twin.token in one]


async def test_a_reply_that_grows_in_place(look):
    async with own_bot(look, streaming(WORDS, edit=True)) as (rig, seen):
        page = seen.page
        await rig.twin.say("go")
        reply = page.locator("#messages .message .text").nth(1)
        await seen.until("document.querySelectorAll('.receipts .is-changed').length > 0")
        await reply.click(position={"x": 8, "y": 8})
        assert "grows in place" in await answered(page)
        await page.keyboard.press("Escape")
        await page.click("#tab-raw")
        await page.locator("#raw .fate-held").first.click()
        assert "may show this already" in await answered(page)
        await page.keyboard.press("Escape")

        assert await seen.outcome() == "completed"
        assert (await reply.inner_text()).removesuffix("(edited)").strip() == WHOLE
        assert "1 message ·" in await page.inner_text("#messages .outcome")
        assert "0 characters held" in await page.inner_text("#lane")
        assert await page.locator(".receipts .is-delivered").count() == 1
        await reply.click(position={"x": 8, "y": 8})
        told = await answered(page)
        assert "Shown" in told
        assert "message 1, character 1" in told
        await page.keyboard.press("Escape")
        await page.click("#tab-log")
        assert "changed" in await page.inner_text("#log")
        assert "message 2" not in await page.inner_text("#log")


SIZES = {"page": DESK, "page-dark": DESK, "travel": DESK, "phone": PHONE, "why": None}
# A picture is read over a network, and kept in the repository for ever.
BYTES_MAX = 300_000


def read_png(data: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height, and the rows as they are stored."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    raw = zlib.decompress(packed)
    step = len(raw) // height
    return width, height, [raw[n * step : (n + 1) * step] for n in range(height)]


async def test_the_pictures_are_taken(browser, tmp_path):
    await take_all(browser, tmp_path, pace=0.3, reduced_motion="reduce")
    assert {one.stem for one in tmp_path.iterdir()} == set(SIZES)
    for name, wanted in SIZES.items():
        data = (tmp_path / f"{name}.png").read_bytes()
        width, height, rows = read_png(data)
        if wanted is not None:
            assert (width, height) == (wanted["width"], wanted["height"]), name
        assert min(width, height) > 300, name
        assert len(data) < BYTES_MAX, name
        assert len(set(rows)) > height / 4, f"{name} is blank"
