"""Exactly once with a nonce, at most once without: answers lost after the effect, at random."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from minamo.twin import CREATE, EXECUTE, Faults, Permission, Rules, Twin
from support.lanes import ada, persona, posting, reasons, unpaced
from support.seeds import FIRST, dice, seeds

pytestmark = pytest.mark.anyio


async def lose_answers(
    channels: int,
    each: int,
    *,
    after: float,
    before: float = 0.0,
    rules: Rules | None = None,
    seed: int = FIRST,
) -> str:
    """Lose some answers after the effect, and some requests before it."""
    async with Twin(rules=rules, faults=Faults(seed=seed)) as twin:
        # A connection that is cut, and a server's error about what it has done all the same.
        twin.faults.drop(on=CREATE, after_effect=True, times=None, chance=after / 2)
        for status in (500, 502, 504):
            twin.faults.status(status, on=CREATE, after_effect=True, times=None, chance=after / 6)
        twin.faults.drop(on=CREATE, times=None, chance=before)
        pacer = unpaced() if rules else None
        async with posting(twin, pacer=pacer, max_retries=0) as post:

            async def fill(channel: str) -> int:
                receipts = await post.send(*(str(n) for n in range(each)), channel=channel)
                shown = twin.texts(channel)
                known = {str(one.index) for one in receipts if one.delivered}
                assert all(times == 1 for times in Counter(shown).values())
                assert [text for text in shown if text in known] == sorted(known, key=int)
                ids = [one.message_id for one in receipts if one.delivered]
                assert ids == [one.id for one in twin.messages(channel) if one.content in known]
                # Eight attempts in a row can fail by chance; then it is said so.
                assert {one.outcome for one in receipts} <= {"delivered", "unknown"}
                return len(receipts) - len(known)

            unknown = sum(await asyncio.gather(*(fill(f"c{n}") for n in range(channels))))
        lost = sum(one.fault is not None for one in twin.journal.requests(CREATE))
        total = channels * each
        assert lost > total * after / 2
        assert before or after > 0.2 or not unknown
        return f"{total} creates, {lost} answers lost: 0 duplicates, 0 losses, {unknown} unknown"


async def test_p18_lost_answers_never_double_or_lose_a_message(
    figure: Callable[[str], None],
) -> None:
    figure(await lose_answers(25, 4, after=0.2, rules=Rules(rate_limits=False)))


async def test_p18_lost_answers_under_limits(figure: Callable[[str], None]) -> None:
    figure("with limits: " + await lose_answers(25, 2, after=0.2))


async def test_p18_what_cannot_be_found_out_is_said() -> None:
    await lose_answers(10, 2, after=0.35, before=0.2, rules=Rules(rate_limits=False))


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_p18_500_creates_under_limits(figure: Callable[[str], None]) -> None:
    figure("with limits: " + await lose_answers(100, 5, after=0.2))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", seeds(5))
async def test_p18_2_000_lost_answers(seed: int, figure: Callable[[str], None]) -> None:
    with dice(seed):
        said = await lose_answers(100, 10, after=0.4, rules=Rules(rate_limits=False), seed=seed)
    figure(f"P18: {said}")
    assert int(said.split()[2]) >= 400


async def test_p18_hikari_repeats_by_itself_and_the_nonce_holds() -> None:
    async with Twin() as twin, posting(twin) as post:
        twin.faults.drop(on=CREATE, after_effect=True)
        twin.faults.status(502, on=CREATE, skip=1)
        (receipt,) = await post.send("once")
        assert (receipt.outcome, receipt.attempts) == ("delivered", 1)
        assert twin.texts() == ["once"]
        assert twin.journal.count(CREATE) >= 2


async def lose_webhook_answers(messages: int) -> str:
    async with Twin(rules=Rules(rate_limits=False), faults=Faults(seed=FIRST)) as twin:
        async with posting(twin, pacer=unpaced()) as post, persona(post, name="Ada") as sender:
            twin.faults.drop(on=EXECUTE, after_effect=True, times=None, chance=0.3)
            twin.faults.drop(on=EXECUTE, times=None, chance=0.1)
            texts = [str(n) for n in range(messages)]
            receipts = await post.send(*texts, sender=sender)
        shown = twin.texts()
        requests = twin.journal.requests(EXECUTE)
    assert len(requests) == messages
    assert all(times == 1 for times in Counter(shown).values())
    unknown = {one.index for one in receipts if one.outcome == "unknown"}
    failed = {index for index, one in enumerate(requests) if one.fault is not None}
    assert unknown == failed
    assert [text for text in texts if int(text) not in unknown] == [
        text for text in shown if int(text) not in unknown
    ]
    assert {one.outcome for one in receipts} == {"delivered", "unknown"}
    return f"{messages} webhook messages: 0 duplicates, {len(unknown)} unknown, all reported"


async def test_p19_a_webhook_is_executed_at_most_once(figure: Callable[[str], None]) -> None:
    with dice(FIRST):
        figure(await lose_webhook_answers(60))


@pytest.mark.slow
async def test_p19_500_webhook_messages(figure: Callable[[str], None]) -> None:
    with dice(FIRST):
        figure("P19: " + await lose_webhook_answers(500))


async def test_p18_an_unreachable_discord_is_known_not_to_have_it() -> None:
    async with Twin() as twin:
        async with posting(twin) as post, persona(post) as sender:
            pass
        async with posting(twin) as post:
            # Its client is closed: nothing went out, and that is certain.
            (receipt,) = await post.send("no", sender=sender)
            assert (receipt.outcome, receipt.reason) == ("not_sent", "closed")
        assert twin.texts() == []


MAKE = "POST /channels/{channel}/webhooks"


async def test_a_webhook_is_made_once_and_found_again() -> None:
    async with Twin() as twin, posting(twin) as post:
        for _ in range(2):
            async with ada(post) as sender:
                assert (await post.send("hello", sender=sender))[0].delivered
                assert "token" not in repr(sender)
        assert twin.journal.count(MAKE) == 1
        assert [one.author.name for one in twin.messages()] == ["Ada", "Ada"]


async def test_a_dead_webhook_is_made_again_in_mid_reply() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        one = post.open(["first"], sender=sender)
        await one.answered()
        webhook = twin.messages()[-1].webhook_id
        assert webhook is not None
        await post.rest.delete_webhook(webhook)
        one._source.put("second")
        one.deliver()
        assert reasons(await one.finish()) == [("delivered", "")] * 2
        assert twin.texts() == ["first", "second"]
        assert twin.messages()[-1].webhook_id not in (None, webhook)


async def test_without_permission_the_bot_speaks_itself() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        assert reasons(await post.send("hello", sender=sender)) == [("delivered", "")]
        assert sender.fell_back == "no_permission"
        assert twin.messages()[-1].webhook_id is None
        assert twin.journal.requests(CREATE)[-1].body["enforce_nonce"] is True


async def test_a_name_that_discord_refuses_falls_back() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post, "clyde") as sender:
        assert (await post.send("hello", sender=sender))[0].delivered
        assert sender.fell_back == "bad_form"


async def test_the_voice_does_not_change_in_mid_reply() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        one = post.open(["first"], sender=sender)
        await one.answered()
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        twin.faults.status(404, on=EXECUTE, times=None)
        one._source.put("second")
        one.deliver()
        assert [told.outcome for told in await one.finish()] == ["delivered", "refused"]
        assert not sender.fell_back


async def test_a_text_that_is_refused_is_refused_in_every_voice() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        assert reasons(await post.send(" ", sender=sender)) == [("refused", "empty_message")]
        assert twin.journal.count(CREATE) == 0
        assert (await post.send("better", sender=sender))[0].delivered
