"""Replies that grow in place, and replies that are too long."""

from __future__ import annotations

import anyio
import pytest

from minamo.core.config import StreamConfig
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.notices.notices import NoticeSettings
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, EDIT, TYPING, Twin
from support.bot import rigged, streaming

pytestmark = pytest.mark.anyio

WORDS = [f"word{number} " for number in range(60)]
WHOLE = "".join(WORDS).strip()


async def test_one_message_grows_to_the_exact_text(twin: Twin) -> None:
    async with rigged(twin, streaming([(0.02, word) for word in WORDS], edit=True)) as rig:
        result = await rig.ask()
    assert rig.said() == [WHOLE]
    assert twin.journal.count(CREATE) == 1
    assert 1 <= twin.journal.count(EDIT) <= 4 + 1.2 / 1.05 + 2  # a burst, then its pace
    assert twin.journal.count(TYPING) <= 2
    assert twin.journal.count(status=429) == 0
    assert (result.status, result.accumulated_text) == ("completed", WHOLE)


async def test_a_thought_in_front_uses_up_no_permit(twin: Twin) -> None:
    thought = ["<think>", *["hidden "] * 30, "</think>"]
    script = [(0.02, word) for word in [*thought, *WORDS]]
    async with rigged(twin, streaming(script, edit=True)) as rig:
        await rig.ask()
    assert rig.said() == [WHOLE]
    assert twin.journal.count(TYPING) <= 2
    shown = next(entry for entry in twin.journal.requests(CREATE) if entry.status == 200)
    assert len(shown.body["content"]) < 60, "the first words were not held up by the pacer"


async def test_it_is_seen_growing_before_a_paragraph_ends(twin: Twin) -> None:
    script = ["The beginning", (60.0, " never")]
    async with rigged(twin, streaming(script, edit=True)) as rig:
        await twin.say("go")
        await rig.until(lambda: rig.said() == ["The beginning"])
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: bool(rig.results))
    result = rig.results[0]
    assert rig.said() == ["The beginning"]
    assert result.stop_reason == "killed"
    assert result.accumulated_text == "The beginning"  # it was seen, so it was said
    assert not result.suppressed.get("killed")


async def test_what_a_kill_finds_unseen_is_dropped(twin: Twin) -> None:
    script = ["First", *[(0.0, f" w{number}") for number in range(200)], (60.0, "!")]
    async with rigged(twin, streaming(script, edit=True)) as rig:
        await twin.say("go")
        await rig.until(lambda: bool(rig.said()))
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: bool(rig.results))
        await anyio.sleep(0.1)
    result = rig.results[0]
    (shown,) = rig.said()
    assert result.accumulated_text == shown
    total = sum(result.suppressed.values()) + len(shown)
    assert total == result.metrics["total_characters"]


async def test_a_long_one_rolls_over(twin: Twin) -> None:
    text = "\n\n".join(f"Paragraph {number}. " + "x" * 80 for number in range(30))
    script = [(0.01, text[at : at + 200]) for at in range(0, len(text), 200)]
    async with rigged(twin, streaming(script, edit=True)) as rig:
        result = await rig.ask()
    assert "\n\n".join(rig.said()) == text
    assert [one.kind for one in result.receipts].count("create") == len(rig.said()) == 2


async def test_a_fresh_end(twin: Twin) -> None:
    async with rigged(
        twin, streaming([(0.02, word) for word in WORDS], edit=True, fresh=True)
    ) as rig:
        result = await rig.ask()
    assert rig.said() == [WHOLE]
    assert twin.journal.count(CREATE) == 2
    assert result.status == "completed"


async def test_thoughts_never_show_in_a_growing_reply(twin: Twin) -> None:
    script = [(0.01, letter) for letter in "Say <think>secret</think>it."]
    async with rigged(twin, streaming(script, edit=True)) as rig:
        await rig.ask()
    bodies = str([one.body for one in twin.journal.requests()])
    assert "secret" not in bodies
    assert "<th" not in bodies
    assert rig.said() == ["Say it."]


async def test_the_limit_of_messages_holds(twin: Twin) -> None:
    config = StreamConfig(send_message_limit=1, max_message_length=100)
    script = [(0.005, f"Sentence {number}. ") for number in range(40)]
    endless = ScriptedProvider(script, hangs=True)
    async with rigged(twin, streaming(lambda _: endless, edit=True, config=config)) as rig:
        result = await rig.ask()
    assert len(rig.said()) == 1
    assert len(rig.said()[0]) <= 100
    assert (result.status, result.stop_reason) == ("stopped_by_user", "send_message_limit")
    assert result.suppressed["limit"] > 0


async def test_the_rest_of_a_long_reply_is_a_file(twin: Twin) -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(8))
    async with rigged(
        twin, streaming([text], overflow=Overflow(after=2, to="file")), config=StreamConfig()
    ) as rig:
        result = await rig.ask()
    (name, data) = next(iter(twin.messages()[-1].files.items()))
    assert name == "reply.md"
    told = "\n\n".join([text for text in rig.said() if text] + [data.decode().strip()])
    assert told == text
    assert result.status == "completed"


SAID_NOTHING = {
    "a thought": ["I wonder", (0.4, "</think>")],
    "a name": ["Ann", (0.4, ": ")],
    "marks": [">", (0.4, " ")],
}


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("name", SAID_NOTHING)
async def test_a_page_of_a_reply_that_says_nothing_is_removed(
    twin: Twin, name: str, fresh: bool
) -> None:
    config = StreamConfig(bot_name="Ann")
    script = streaming(SAID_NOTHING[name], edit=True, fresh=fresh, button=True, config=config)
    async with rigged(twin, script) as rig:
        result = await rig.ask()
    assert twin.journal.count(CREATE) == 1
    assert rig.said() == []
    assert (result.status, result.accumulated_text) == ("empty_response", "")
    kept = sum(map(len, result.thought_log))
    assert sum(result.suppressed.values()) + kept == result.metrics["total_characters"]


async def test_the_notice_takes_the_place_of_a_page_that_says_nothing(twin: Twin) -> None:
    notices = NoticeSettings(tell_empty=True)
    async with rigged(
        twin, streaming(SAID_NOTHING["a thought"], edit=True), notices=notices
    ) as rig:
        result = await rig.ask()
    assert result.status == "empty_response"
    assert [bool(message.embeds) for message in twin.messages()[1:]] == [True]


async def test_an_edit_that_is_not_answered_after_a_kill_was_not_said(twin: Twin) -> None:
    config = StreamConfig(drain_timeout_ms=300)
    script = ["One", (0.4, " two"), (60.0, "!")]
    async with rigged(twin, streaming(script, edit=True, config=config)) as rig:
        stalled = twin.faults.stall(EDIT)
        await twin.say("go")
        await rig.until(lambda: stalled.happened == 1)
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: bool(rig.results))
        result = rig.results[0]
        assert rig.said() == ["One"]
    assert (result.stop_reason, result.accumulated_text) == ("killed", "One")
    assert dict(result.suppressed) == {"undelivered": 4}
    assert [(one.kind, one.outcome) for one in result.receipts] == [
        ("create", "delivered"),
        ("edit", "unknown"),
    ]


# Where the first page ends depends on what follows: with the rest it takes over some of the second.
# The asterisk has no partner, so the page is not settled before.
TWO_PAGES = (
    "w0 w1* w2\n\nw3 w4 w5 w6 w7 w8 w9 w10 w11 w12\n\n"
    "w13 w14 w15. w16 w17 w18 w19. w20 w21. w22 w23. w24 w25 w26\n\nw27. w28. w29 w30 w31"
)
MORE = (
    " w32 w33 w34 w35. w36\n\nw37 w38. w39 w40 w41 w42\n\n"
    "w43 w44 w45. w46 w47 w48 w49. w50 w51 w52 w53 w54 w55 w56. w57 w58 w59"
)


async def test_the_limit_comes_when_the_pages_within_it_read_right(twin: Twin) -> None:
    config = StreamConfig(send_message_limit=2, max_message_length=100)
    script = ScriptedProvider([TWO_PAGES, (0.5, MORE)], hangs=True)
    async with rigged(twin, streaming(lambda _: script, edit=True, config=config)) as rig:
        result = await rig.ask()
    assert result.stop_reason == "send_message_limit"
    words = " ".join(rig.said()).split()
    assert words == (TWO_PAGES + MORE).split()[: len(words)]
    assert result.accumulated_text.split() == words


@pytest.mark.parametrize("fresh", [False, True])
async def test_a_kill_between_two_pages_leaves_nothing_twice(twin: Twin, fresh: bool) -> None:
    config = StreamConfig(max_message_length=100)
    script = ScriptedProvider([TWO_PAGES, (0.5, MORE)], hangs=True)
    twin.faults.delay(0.3, EDIT, after_effect=True)
    async with rigged(
        twin, streaming(lambda _: script, edit=True, fresh=fresh, config=config)
    ) as rig:
        await twin.say("go")
        await rig.until(lambda: twin.journal.count(EDIT) == 1)
        await anyio.sleep(0.1)  # the first page has changed, and its answer is on the way
        assert all("w13" in text for text in rig.said())
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: bool(rig.results))
        result = rig.results[0]
        assert " ".join(rig.said()).split() == TWO_PAGES.split()
    assert result.stop_reason == "killed"
    assert result.accumulated_text.split() == TWO_PAGES.split()


async def test_a_page_that_cannot_change_leaves_nothing_twice(twin: Twin) -> None:
    config = StreamConfig(max_message_length=100)
    twin.faults.status(400, EDIT, skip=1)  # the first page takes over what the second keeps
    async with rigged(twin, streaming([TWO_PAGES, (0.5, MORE)], edit=True, config=config)) as rig:
        result = await rig.ask()
    assert (result.status, result.stop_reason) == ("error", "delivery_lost")
    assert " ".join(text for text in rig.said() if text).split() == TWO_PAGES.split()
    assert result.accumulated_text.split() == TWO_PAGES.split()
