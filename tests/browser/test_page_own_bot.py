"""The page of somebody's own bot: `Client(bot, inspect=True)`, which may only look."""

from __future__ import annotations

import json
import struct
import zlib
from contextlib import asynccontextmanager

import pytest

from browser.screenshots import DESK, PHONE, take_all
from minamo import OpenAICompatible
from minamo.twin import Twin
from support.bot import rigged, streaming
from support.provider_server import saying, serving

pytestmark = pytest.mark.anyio


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
    await take_all(browser, tmp_path, pace=0.3)
    assert {one.stem for one in tmp_path.iterdir()} == set(SIZES)
    for name, wanted in SIZES.items():
        data = (tmp_path / f"{name}.png").read_bytes()
        width, height, rows = read_png(data)
        if wanted is not None:
            assert (width, height) == (wanted["width"], wanted["height"]), name
        assert min(width, height) > 300, name
        assert len(data) < BYTES_MAX, name
        assert len(set(rows)) > height / 4, f"{name} is blank"
