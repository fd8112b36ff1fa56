"""Lanes in virtual time: what each answer comes to, echoes, and stops."""

from __future__ import annotations

import anyio
import pytest

from minamo.core.messages import Receipt
from minamo.shell.delivery.delivery import ATTEMPTS_MAX, NONCE_MAX, nonce_for
from minamo.shell.delivery.interfaces import (
    CLOSED,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    TextQueue,
    Unknown,
)
from minamo.shell.delivery.lanes import Lanes
from support.fake_discord import FakeSender, answers, send, with_lanes


def test_p18_nonces_are_stable_short_and_all_different() -> None:
    made = {nonce_for(stream, index) for stream in ("a", "b", "\ud800") for index in range(2000)}

    assert len(made) == 6000
    assert max(map(len, made)) <= NONCE_MAX
    assert nonce_for("a", 7) == nonce_for("a", 7)


@pytest.mark.parametrize(
    ("script", "outcome", "reason", "attempts"),
    [
        ([None], "delivered", "", 1),
        ([Deleted()], "delivered", "", 1),
        ([Rejected("no_permission")], "refused", "no_permission", 1),
        ([RetryLater("rate_limited", 3), None], "delivered", "", 2),
        ([RetryLater("rate_limited", 3)], "not_sent", "rate_limited", ATTEMPTS_MAX),
        ([RetryLater("rate_limited", 3_600)], "not_sent", "rate_limited", 1),
        ([CLOSED], "not_sent", "closed", 1),
        ([Unknown("connection"), None], "delivered", "", 2),
        ([Unknown("connection"), Deleted()], "delivered", "", 2),
        ([Unknown("connection"), RetryLater("rate_limited", 3), None], "delivered", "", 3),
        ([Unknown("connection"), Rejected("no_permission")], "unknown", "no_permission", 2),
        ([Unknown("connection"), CLOSED], "unknown", "closed", 2),
        ([Unknown("connection")], "unknown", "connection", ATTEMPTS_MAX),
    ],
)
def test_every_answer_has_its_outcome(
    script: list[SendOutcome | None], outcome: str, reason: str, attempts: int
) -> None:
    sender = answers(*script)

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.reason, receipt.attempts) == (outcome, reason, attempts)
        (after,) = await send(lanes, FakeSender(), "next", stream_id="t")
        assert after.delivered

    with_lanes(story)


def test_p19_without_a_nonce_a_lost_answer_is_not_asked_about() -> None:
    sender = answers(Unknown("connection"))
    sender.has_nonce = False

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts, receipt.nonce) == ("unknown", 1, None)

    with_lanes(story)


def test_a_nonce_that_may_be_forgotten_is_not_trusted() -> None:
    sender = answers(Unknown("connection"))
    sender.latency_s = 70.0

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts) == ("unknown", 2)

    with_lanes(story, drain_s=500)


def test_the_echo_ends_reconciling_at_once() -> None:
    sender = answers(Unknown("connection"))

    async def story(lanes: Lanes) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, lanes, sender, "hello")
            await anyio.sleep(0.2)
            lanes.echoed(1, nonce_for("someone else's", 0), 66)
            lanes.echoed(1, nonce_for("s", 0), 77)
        assert sender.calls == 1

    with_lanes(story)


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 1.0])
def test_a_stop_takes_back_what_is_not_out(after_s: float) -> None:
    sender = FakeSender()
    heard: list[Receipt] = []

    async def story(lanes: Lanes) -> None:
        source = TextQueue(["a", "b", "c", "d", "e", "f", "g"])
        one = lanes.open(1, sender, source, stream_id="s", on_receipt=heard.append)
        one.deliver()
        await anyio.sleep(after_s)
        one.withdraw("stop")
        sent = sender.calls
        with anyio.fail_after(0.2):  # what is out finishes; nothing waits for a pace
            await one.finish()
        assert sender.calls == sent
        assert sum(receipt.delivered for receipt in heard) == sent
        assert sum(receipt.characters for receipt in heard) == 7
        (receipt,) = await send(lanes, FakeSender(), "next", stream_id="t")
        assert receipt.delivered

    with_lanes(story)


def test_what_is_withdrawn_while_out_is_not_tried_again() -> None:
    for lost in (Unknown("connection"), RetryLater("rate_limited", 1)):
        sender = answers(lost)

        async def story(lanes: Lanes, sender: FakeSender = sender) -> None:
            one = lanes.open(1, sender, TextQueue(["a"]), stream_id="s")
            one.deliver()
            await anyio.sleep(0.05)
            one.withdraw("follow_up")
            (receipt,) = await one.finish()
            assert (receipt.lost, receipt.attempts) == (True, 1)

        with_lanes(story)


def test_a_stop_ends_reconciling() -> None:
    sender = answers(Unknown("connection"))

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, TextQueue(["a"]), stream_id="s")
        one.deliver()
        await anyio.sleep(0.2)
        one.withdraw("stop")
        (receipt,) = one.receipts
        assert (receipt.outcome, receipt.reason) == ("unknown", "stop")
        one.close()

    with_lanes(story)
