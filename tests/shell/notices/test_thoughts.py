"""Thoughts: the setting, the messages made of them, and where those go."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.messages import NOBODY, Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Rejected
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.thoughts import (
    DESCRIPTION_MAX,
    MESSAGES_MAX,
    TELL_S,
    ThoughtDisplay,
    log_embeds,
    plainly,
    spoilers,
    tell_thoughts,
)
from minamo.testing.strategies import markdown_texts
from support.fake_discord import FakeSender, run_with_virtual_clock

EN = Wording()
# As Discord reads one: from two bars to the next two, and a backslash takes a bar away.
SPOILER = re.compile(r"\|\|((?:\\[\s\S]|[^\\])+?)\|\|")
MORE = re.compile(r"\n… \((\d+) more characters\)\Z")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ThoughtDisplay("logs"), "one of nowhere, log, spoiler, thread; not to 'logs'"),  # type: ignore[arg-type]
        (lambda: ThoughtDisplay("log"), "need channel_id, a channel's id; it is None"),
        (lambda: ThoughtDisplay("log", channel_id=0), "it is 0"),
        (lambda: ThoughtDisplay("log", channel_id=True), "it is True"),
        (lambda: ThoughtDisplay("log", channel_id="5"), "it is '5'"),  # type: ignore[arg-type]
        (
            lambda: ThoughtDisplay("thread", channel_id=5),
            "only thoughts in a log have a channel_id",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_told(
    make: Callable[[], ThoughtDisplay], words: str
) -> None:
    with pytest.raises(BadSetting, match=re.escape(words)):
        make()


HOSTILE = st.lists(
    st.sampled_from(
        [
            *("||", "|", "\\", "`", "```", "```py\n", "\n", "\n\n", " ", "> "),
            "| a | b |\n|--|--|\n",
            "x" * 700,
            "word ",
            "||||||||",
            "👨‍👩‍👧‍👦",
            "語" * 90,
            "@everyone",
            "~~~\n",
            "**",
            "\u200b",
        ]
    ),
    max_size=60,
).map("".join)


TEXTS = st.one_of(markdown_texts(), HOSTILE).map(
    lambda text: text.encode("utf-8", "replace").decode()
)


def seen(text: str) -> str:
    """The characters of a text that are neither blank nor formatting."""
    return re.sub(r"[\s`|\u200b~*>\\-]|py", "", text)


@given(TEXTS)
def test_a_spoiler_hides_everything_and_fits(text: str) -> None:
    for message in [one for one in spoilers(text, EN) if one]:
        assert len(message) <= 1_950
        assert len(message.encode("utf-16-le")) // 2 <= 2_000
        whole = SPOILER.fullmatch(message)
        assert whole, message
        assert SPOILER.match(message).end() == len(message), "nothing is left outside"  # type: ignore[union-attr]
        assert "||" not in whole[1]


@given(TEXTS)
def test_a_log_keeps_every_character_in_order(text: str) -> None:
    made = list(log_embeds(text, EN))
    assert len(made) <= MESSAGES_MAX
    for number, one in enumerate(made):
        assert one.title == ("" if number else "Thoughts")
        assert 0 < len(one.description) <= DESCRIPTION_MAX
        assert one.description.strip()
    joined = "".join(one.description for one in made)
    if not MORE.search(joined):
        rest = iter(seen(joined))
        assert all(character in rest for character in seen(text)), "in order, nothing left out"
        # At most a fence is closed and opened in between, with the name of its language.
        assert len(seen(joined)) - len(seen(text)) <= 32 * len(made)


def test_a_log_is_cut_where_it_reads_well() -> None:
    paragraphs = [f"{letter * 900}." for letter in "abcdefghij"]
    made = list(log_embeds("\n\n".join(paragraphs), EN))
    assert [one.description.split() for one in made] == [
        paragraphs[:4],
        paragraphs[4:8],
        paragraphs[8:],
    ]
    (first, second) = list(log_embeds("```py\n" + "code = 1\n" * 500 + "```\nend", EN))
    assert first.description.endswith("code = 1\n```")
    assert second.description.startswith("```py\ncode = 1\n")
    assert second.description.endswith("```\nend")
    (first, second, *_) = list(log_embeds("👨‍👩‍👧‍👦" * 1_000, EN))
    assert len(first.description) % 7 == len(second.description) % 7 == 0


@pytest.mark.parametrize("make", [log_embeds, spoilers, plainly])
@pytest.mark.parametrize("unit", ["word ", "x", "||", "```py\nx\n```\n", "𝄞"])
def test_a_million_characters_are_ten_messages_and_say_so(make: Any, unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    made = [getattr(one, "description", one) for one in make(text, EN) if one]
    assert 5 <= len(made) <= MESSAGES_MAX
    told = MORE.search(made[-1].removesuffix("||"))
    assert told
    left = int(told[1])
    shown = sum(map(len, made))
    assert 0 < len(text) - left <= shown + len(made) * 4


class FakeThreads:
    def __init__(self, answer: int | str = 99, takes_s: float = 0.0) -> None:
        self.answer, self.takes_s = answer, takes_s
        self.asked: list[tuple[int, str]] = []

    async def start_thread(self, message_id: int, name: str) -> int | str:
        self.asked.append((message_id, name))
        await anyio.sleep(self.takes_s)
        return self.answer


def reply(*thoughts: str, shown: bool = True) -> StreamResult:
    ids = (11, 12) if shown else ()
    receipts = tuple(
        Receipt(outcome="delivered", channel_id=1, index=0, characters=1, message_id=one)
        for one in ids
    )
    return StreamResult(status="completed", thought_log=thoughts, receipts=receipts)


def tell(
    place: ThoughtDisplay, result: StreamResult, sender: FakeSender | None = None, **more: Any
) -> tuple[tuple[Receipt, ...], dict[int, FakeSender], float]:
    """The receipts, who was asked to speak where, and how long it took."""
    senders: dict[int, FakeSender] = {}
    took = 0.0
    told: tuple[Receipt, ...] = ()

    def sender_for(channel_id: int) -> FakeSender:
        return senders.setdefault(channel_id, sender or FakeSender(channel_id))

    async def story() -> None:
        nonlocal told, took
        async with open_lanes(drain_s=1) as lanes:
            began = anyio.current_time()
            told = await tell_thoughts(
                place,
                result,
                **{
                    "lanes": lanes,
                    "sender_for": sender_for,
                    "channel_id": 1,
                    "stream_id": "s",
                    "wording": EN,
                    **more,
                },
            )
            took = anyio.current_time() - began

    run_with_virtual_clock(story)
    return told, senders, took


def test_by_default_thoughts_go_nowhere() -> None:
    told, senders, _ = tell(ThoughtDisplay(), reply("hm"))
    assert (told, senders) == ((), {})


@pytest.mark.parametrize("place", [ThoughtDisplay("spoiler"), ThoughtDisplay("log", channel_id=5)])
def test_without_thoughts_nothing_is_said(place: ThoughtDisplay) -> None:
    assert tell(place, reply(" ", ""))[:2] == ((), {})


def test_a_log_gets_embeds_in_order_and_pings_nobody() -> None:
    told, senders, _ = tell(ThoughtDisplay("log", channel_id=5), reply("a" * 4_000, "b @everyone"))
    posts = [post for _, post in senders[5].posts]
    first, last = [post.embed.description for post in posts if post.embed]
    assert first.startswith("aaa")
    assert last.endswith("b @everyone")
    assert all(post.ping == NOBODY and post.text == "" for post in posts)
    assert [one.delivered for one in told] == [True] * len(posts)
    assert len({post.nonce for post in posts}) == len(posts) == 2


def test_a_spoiler_follows_the_reply() -> None:
    told, senders, _ = tell(ThoughtDisplay("spoiler"), reply("one", "two || three"))
    assert senders[1].texts == ["||one\n\ntwo |\u200b| three||"]
    assert senders[1].posts[0][1].ping == NOBODY
    assert told[0].delivered


def test_torn_characters_are_mended() -> None:
    _, senders, _ = tell(ThoughtDisplay("spoiler"), reply("\ud83d\ude00 and \ud83d"))
    assert senders[1].texts == ["||😀 and \ufffd||"]


def test_a_thread_begins_below_the_last_message() -> None:
    threads = FakeThreads()
    told, senders, _ = tell(ThoughtDisplay("thread"), reply("one", "two"), threads=threads)
    assert threads.asked == [(12, "Thoughts")]
    assert senders[99].texts == ["one\n\ntwo"]
    assert told[0].delivered


@pytest.mark.parametrize(
    ("result", "threads", "reason"),
    [
        (reply("hm"), FakeThreads("no_permission"), "no_permission"),
        (reply("hm", shown=False), FakeThreads(), "nothing_shown"),
        (reply("hm"), None, "no_threads"),
        (reply("hm"), FakeThreads(takes_s=1e6), "deadline"),
    ],
)
def test_without_a_thread_nothing_is_told(result: Any, threads: Any, reason: str) -> None:
    told, senders, took = tell(ThoughtDisplay("thread"), result, threads=threads)
    assert [(one.outcome, one.reason, one.characters) for one in told] == [("not_sent", reason, 2)]
    assert senders == {}
    assert took <= TELL_S


def test_a_log_that_is_refused_is_not_tried_ten_times() -> None:
    sender = FakeSender(script=lambda number, post: Rejected("no_permission"))
    told, _, _ = tell(ThoughtDisplay("log", channel_id=5), reply("a " * 9_000), sender)
    assert [(one.outcome, one.reason) for one in told] == [("refused", "no_permission")]
    assert sender.calls == 1


@pytest.mark.parametrize("place", [ThoughtDisplay("spoiler"), ThoughtDisplay("log", channel_id=5)])
def test_a_channel_that_hangs_does_not_hold_up_the_caller(place: ThoughtDisplay) -> None:
    told, _, took = tell(place, reply("a " * 9_000), FakeSender(latency_s=1e6), deadline_s=7)
    assert told[-1].lost
    assert took == pytest.approx(7, abs=0.1)


def test_a_broken_part_is_a_receipt_and_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    def broken(channel_id: int) -> FakeSender:
        raise RuntimeError("secret words")

    told, _, _ = tell(ThoughtDisplay("spoiler"), reply("hm"), sender_for=broken)
    assert [one.reason for one in told] == ["unexpected"]
    assert "secret" not in caplog.text
