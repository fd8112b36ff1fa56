"""A reply that grows in place, in virtual time."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.fitting.fit import fit
from minamo.core.messages import OutgoingMessage, Receipt
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import Deleted, Rejected, SendOutcome, Unknown
from minamo.shell.delivery.lanes import open_lanes
from support.fake_discord import FakeSender, Script, run_with_virtual_clock


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
