"""Many messages at once, sent in one go: in order, paced, and stopped as any others."""

from __future__ import annotations

import itertools

import pytest

from minamo.core.messages import Receipt
from minamo.twin import CREATE, Rules, Twin
from support.lanes import posting, reasons, unpaced

pytestmark = pytest.mark.anyio
MANY = [f"message {n}" for n in range(30)]
FREE = Rules(rate_limits=False)


async def test_p17_all_arrive_in_order_one_call_at_a_time() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        twin.faults.latency_s = 0.005
        await post.send("opens the route")
        receipts = await post.send(*MANY)
        assert twin.texts()[1:] == MANY
        assert [one.message_id for one in receipts] == [one.id for one in twin.messages()[1:]]
        done = twin.journal.requests(CREATE)[1:]
        assert all(one.at + one.took_s <= two.at + 0.001 for one, two in itertools.pairwise(done))


async def test_p18_a_lost_answer_in_the_middle_is_asked_about() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced(), max_retries=0) as post:
        twin.faults.drop(on=CREATE, after_effect=True, skip=10)
        receipts = await post.send(*MANY)
        assert twin.texts() == MANY
        assert [one.attempts for one in receipts] == [2 if n == 10 else 1 for n in range(30)]


async def test_a_stop_in_the_middle_sends_no_more() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:

        def heard(receipt: Receipt) -> None:
            if receipt.index == 9 and receipt.delivered:
                one.withdraw("stop")

        one = post.open(MANY, on_receipt=heard)
        receipts = await one.finish()
        assert twin.texts() == MANY[:10]
        assert set(reasons(receipts)) == {("delivered", ""), ("not_sent", "stop")}


async def test_what_a_listener_raises_changes_nothing_but_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def heard(receipt: Receipt) -> None:
        if receipt.index == 3:
            raise LookupError("somebody's mistake")

    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        await post.send("opens the route")
        receipts = await post.send(*MANY, on_receipt=heard)
        assert twin.texts()[1:] == MANY
        assert [one.outcome for one in receipts] == ["delivered"] * len(MANY)
        await post.send("the next one")
        assert twin.texts()[-1] == "the next one"
    (record,) = [one for one in caplog.records if one.message == "processing a receipt failed"]
    assert record.kind == "LookupError"
    assert record.place.startswith("test_burst.py:")
    assert "mistake" not in caplog.text


async def test_the_pace_is_kept() -> None:
    async with Twin() as twin, posting(twin) as post:
        await post.send(*MANY[:7])
        assert twin.texts() == MANY[:7]
        assert twin.journal.count(CREATE, status=429) == 0
        at = [one.at for one in twin.journal.requests(CREATE)]
        assert at[-1] - at[0] > 2.5
