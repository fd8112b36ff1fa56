"""The page while things happen: a reply streams in, is stopped, is followed up."""

from __future__ import annotations

import pytest

from support.page import rig

pytestmark = pytest.mark.anyio


async def test_a_reply_streams_in_and_its_states_are_lit(look, shoot):
    async with rig(quick=True) as made, look(made.served.address) as seen:
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
