"""A reply that grows in place, in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.fitting.compose import compose
from minamo.core.fitting.fit import fit
from minamo.core.messages import OutgoingMessage, Receipt
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import Deleted, Rejected, SendOutcome, Unknown
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.delivery.queue import StreamQueue
from minamo.twin import CREATE, DELETE, EDIT, Permission, Rules, Twin
from support.fake_discord import FakeSender, Script, run_with_virtual_clock
from support.lanes import Post, posting, reasons, unpaced

pytestmark = pytest.mark.anyio


def stands(sender: FakeSender) -> list[str]:
    """What the channel shows: the latest text of each message."""
    texts = {number: post.text for number, (_, post) in zip(ids(sender), sender.posts, strict=True)}
    for _, post, message_id in sender.edits:
        texts[message_id] = post.text
    return [text for number, text in texts.items() if number not in sender.deleted]


def ids(sender: FakeSender) -> list[int]:
    return sender.made


class Counting(FakeSender):
    """Numbers only the messages it makes."""

    made: list[int]

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script=script)
        self.made = []

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        answer = await super().create(post)
        if (number := getattr(answer, "message_id", None)) is not None:
            self.made.append(number)
        return answer


async def grow(
    pages: PageSet, sender: FakeSender, texts: list[str], every_s: float
) -> list[Receipt]:
    async with open_lanes(drain_s=60) as lanes:
        one = lanes.open(1, sender, pages, stream_id="s", on_receipt=pages.on_receipt)
        for text in texts:
            pages.show(text)
            one.deliver()
            await anyio.sleep(every_s)
        return list(await one.finish())


def wanted(text: str) -> list[str]:
    return [message.text for message in fit(text).messages]


def test_400_updates_in_8_seconds_are_few_edits_and_the_text_is_exact() -> None:
    sender, pages = Counting(), PageSet()
    whole = " ".join(f"word{n}" for n in range(400))
    texts = [whole[: len(whole) * n // 400] for n in range(1, 401)]

    async def main() -> None:
        receipts = await grow(pages, sender, texts, 8 / 400)
        assert all(one.delivered for one in receipts)

    run_with_virtual_clock(main)
    assert stands(sender) == wanted(whole)
    assert len(sender.posts) == len(wanted(whole))
    assert len(sender.edits) <= 14
    assert all(post.nonce is None for _, post, _ in sender.edits)


def test_a_growing_text_rolls_over() -> None:
    sender, pages = Counting(), PageSet()
    whole = "\n".join(f"Line {n} of a long reply." for n in range(300)) + "\n```py\nx = 1\n"

    async def main() -> None:
        await grow(pages, sender, [whole[:n] for n in range(50, len(whole) + 50, 50)], 0.3)

    run_with_virtual_clock(main)
    assert stands(sender) == wanted(whole)
    assert len(sender.posts) > 2
    assert pages.ids == tuple(sender.made)


@given(st.lists(st.text("ab \n`*|", max_size=40).map(lambda text: text * 9), max_size=8))
def test_what_stands_is_the_last_text(parts: list[str]) -> None:
    sender, pages = Counting(), PageSet(limit=100)
    texts = ["x" + "".join(parts[: n + 1]) for n in range(len(parts))]

    async def main() -> None:
        await grow(pages, sender, texts, 0.7)

    run_with_virtual_clock(main)
    if texts:
        want = [message.text for message in fit(texts[-1], limit=100).messages]
        assert stands(sender) == want


SHAPES = {
    "prose": ("", "The lake was still, **as ever**. Then a fish jumped, and we counted.\n\n"),
    "angle brackets": ("", "if a < b and b <c or <d then << e; "),
    "code": ("```py\n", "    total += compute(value, 42)  # a line of code\n"),
    "table": ("| name | size |\n|---|---|\n", "| a fish | 12 |\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_edit_fits_as_much_text_however_long_the_reply_is(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[int] = []

    def counted(text: str, *args: object, **settings: object) -> object:
        composed.append(len(text))
        return compose(text, *args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("minamo.core.fitting.fit.compose", counted)
    head, unit = SHAPES[shape]
    pages, edits = PageSet(), list[int]()
    whole = head + unit * (80_000 // len(unit))
    for end in range(240, len(whole), 240):
        composed.clear()
        pages.show(whole[:end])
        while due := pages.take():
            made = Receipt(outcome="delivered", channel_id=1, index=0, characters=1,
                           message_id=end, kind=due[0].kind)  # fmt: skip
            pages.on_receipt(made)
        edits.append(sum(composed))
    early, late = edits[30:150], edits[-120:]  # from the fourth message on
    assert sum(late) / 120 <= 2_600
    assert sum(late) <= 1.05 * sum(early)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(Rejected("no_permission"), "no_permission"), (Deleted(), "deleted"), (Unknown("x"), "x")],
)
def test_a_page_that_failed_ends_the_changes(answer: SendOutcome, reason: str) -> None:
    sender = Counting(lambda number, post: answer)
    pages = PageSet()

    async def main() -> None:
        await grow(pages, sender, ["one", "one two", "one two three"], 5)

    run_with_virtual_clock(main)
    assert pages.broken == reason
    assert sender.calls <= 8


def test_a_lost_edit_is_made_again() -> None:
    sender = Counting(lambda number, post: Unknown("connection") if number == 2 else None)
    pages = PageSet()

    async def main() -> None:
        receipts = await grow(pages, sender, ["one", "one two"], 3)
        assert [(one.outcome, one.attempts, one.kind) for one in receipts] == [
            ("delivered", 1, "create"),
            ("delivered", 2, "edit"),
        ]

    run_with_virtual_clock(main)
    assert stands(sender) == ["one two"]


def test_a_withdrawn_reply_stays_as_it_stands() -> None:
    sender, pages = Counting(), PageSet()

    async def main() -> None:
        async with open_lanes() as lanes:
            one = lanes.open(1, sender, pages, stream_id="s", on_receipt=pages.on_receipt)
            pages.show("one")
            one.deliver()
            await one.answered()
            pages.show("one two")
            one.withdraw("kill")
            await one.finish()

    run_with_virtual_clock(main)
    assert stands(sender) == ["one"]


async def grow_in_place(updates: int, seconds: float, length: int) -> str:
    whole = "\n".join(f"Line {n} of a long reply." for n in range(length))
    async with Twin() as twin:
        twin.faults.latency_s = 0.05
        async with posting(twin) as post:
            sender, pages = post.sender(), PageSet()
            one = post.lanes.open(
                sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
            )
            began = time.perf_counter()
            for n in range(1, updates + 1):
                pages.show(whole[: len(whole) * n // updates])
                one.deliver()
                await asyncio.sleep(max(0, began + seconds * n / updates - time.perf_counter()))
            edits = twin.journal.count(EDIT)
            receipts = await one.finish()
        assert all(one.delivered for one in receipts)
        assert twin.texts() == [message.text for message in fit(whole).messages]
        assert twin.journal.count(EDIT, status=429) == 0
        assert twin.journal.count(CREATE, status=429) == 0
        bodies = [one.body for one in twin.journal.requests(EDIT)]
        assert all(body["allowed_mentions"]["parse"] == [] for body in bodies)
        total = twin.journal.count(EDIT)
        return f"{updates} updates in {seconds} s: {edits} edits, {total} with the last, 0 × 429"


async def test_many_updates_are_few_edits(figure: Callable[[str], None]) -> None:
    figure(await grow_in_place(100, 2.0, 150))


@pytest.mark.slow
async def test_p16_400_updates_in_8_s_are_at_most_14_edits(figure: Callable[[str], None]) -> None:
    told = await grow_in_place(400, 8.0, 60)
    figure(told)
    assert int(told.split(", ")[1].split()[0]) <= 14


async def test_a_message_that_a_user_deleted_is_not_written_again() -> None:
    async with Twin() as twin, posting(twin) as post:
        sender, pages = post.sender(), PageSet()
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
        )
        pages.show("one")
        one.deliver()
        await one.answered()
        await twin.delete(twin.messages()[-1])
        pages.show("one two")
        one.deliver()
        receipts = await one.finish()
        assert (receipts[-1].outcome, receipts[-1].reason) == ("refused", "unknown_message")
        assert pages.broken == "unknown_message"
        assert twin.texts() == []


LONG = "\n".join(f"Line {n} of a long reply." for n in range(200))


@asynccontextmanager
async def grown(*texts: str) -> AsyncIterator[tuple[Twin, Post, StreamQueue, PageSet]]:
    rules = Rules(rate_limits=False)
    async with Twin(rules=rules) as twin, posting(twin, pacer=unpaced()) as post:
        sender, pages = post.sender(), PageSet(fresh=True)
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
        )
        for text in texts:
            pages.show(text)
            one.deliver()
            await one.answered()
        yield twin, post, one, pages


@pytest.mark.parametrize("last", ["one two three", LONG])
async def test_the_end_is_fresh_and_the_text_never_absent(last: str) -> None:
    async with grown("one", "one two", last) as (twin, _, one, pages):
        before = twin.texts()
        old = {message.id for message in twin.messages()}
        receipts = await one.finish()
        assert twin.texts() == before
        assert not old & {message.id for message in twin.messages()}
        assert pages.ids == tuple(message.id for message in twin.messages())
        assert all(told.delivered for told in receipts)
        done = [request.name for request in twin.journal.requests_made]
        assert done[-len(old) :] == [DELETE] * len(old)
        assert done[-2 * len(old) : -len(old)] == [CREATE] * len(old)


async def test_the_last_words_are_not_edited_in_first() -> None:
    async with grown("one") as (twin, _, one, pages):
        pages.show("one two")
        await one.finish()
        assert twin.texts() == ["one two"]
        assert twin.journal.count(EDIT) == 0
        assert twin.journal.count(CREATE) == 2


async def test_what_never_grew_is_fresh_already() -> None:
    async with grown("one") as (twin, _, one, _pages):
        await one.finish()
        assert (twin.journal.count(CREATE), twin.journal.count(DELETE)) == (1, 0)


async def test_if_nothing_new_can_be_said_what_grew_is_completed() -> None:
    async with grown("one", "one two") as (twin, _, one, pages):
        twin.deny("general", Permission.SEND_MESSAGES)
        pages.show("one two three")
        receipts = await one.finish()
        assert twin.texts() == ["one two three"]
        assert reasons(receipts)[-2:] == [("refused", "no_permission"), ("delivered", "")]
        assert not pages.broken


async def test_if_some_fresh_page_fails_the_others_are_removed() -> None:
    async with grown("one", LONG) as (twin, _, one, pages):
        before = twin.texts()
        twin.faults.status(403, on=CREATE, skip=1)
        await one.finish()
        assert twin.texts() == before
        assert pages.ids == tuple(message.id for message in twin.messages())


@pytest.mark.parametrize("skip", [0, 1, 2])
async def test_a_kill_in_between_leaves_the_text_once(skip: int) -> None:
    async with grown("one", LONG) as (twin, _, one, _pages):
        before = twin.texts()
        assert len(before) == 3
        made = twin.journal.count(CREATE)
        twin.faults.delay(0.1, on=CREATE, skip=skip)
        one.close()
        await twin.journal.until(lambda: twin.journal.count(CREATE) == made + skip + 1)
        one.withdraw("killed")
        await one.finish()
        assert twin.texts() == before
        assert all(told.kind == "delete" or told.outcome == "delivered" for told in one.receipts)


async def test_a_kill_before_the_end_leaves_what_grew() -> None:
    async with grown("one", "one two") as (twin, _, one, pages):
        pages.show("one two three")
        one.withdraw("killed")
        await one.finish()
        assert twin.texts() == ["one two"]
