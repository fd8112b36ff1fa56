"""Planned accidents: each happens, and what bare hikari does then is known (H1 to H10)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import anyio
import hikari
import pytest

from minamo.twin import CREATE, EDIT, TYPING, Faults, Limit, Permission, Style, Twin
from minamo.twin.faults import Called

pytestmark = pytest.mark.anyio

Rest = hikari.impl.RESTClientImpl


@pytest.mark.parametrize("status", [500, 502])
async def test_server_errors_are_survived(twin: Twin, rest: Rest, status: int) -> None:
    fault = twin.faults.status(status, on=CREATE)
    await rest.create_message(twin.channel().id, "x")
    assert fault.happened == 1
    assert [one.status for one in twin.journal.requests(CREATE)] == [status, 200]
    assert twin.texts() == ["x"]


async def test_a_dropped_connection_is_survived(twin: Twin, rest: Rest) -> None:
    twin.faults.drop(on=CREATE)
    await rest.create_message(twin.channel().id, "x")
    first, second = twin.journal.requests(CREATE)
    assert (first.status, first.fault, second.status) == (None, "drop", 200)
    assert twin.texts() == ["x"]


@pytest.mark.parametrize("scope", ["user", "global", "shared"])
async def test_each_kind_of_429_is_survived(twin: Twin, rest: Rest, scope: str) -> None:
    home = twin.channel().id
    await rest.create_message(home, "warm")
    twin.faults.limited(0.2, on=CREATE, scope=scope)
    await rest.create_message(home, "x")
    (over,) = twin.journal.requests(CREATE, status=429)
    assert over.scope == scope
    assert over.answer["retry_after"] == 0.2
    assert twin.texts() == ["warm", "x"]


async def test_a_page_of_the_content_network_is_no_json(twin: Twin, rest: Rest) -> None:
    twin.faults.html(on=CREATE)
    with pytest.raises(hikari.HTTPResponseError) as caught:
        await rest.create_message(twin.channel().id, "x")
    assert caught.value.status == 429
    assert "text/html" in caught.value.headers["Content-Type"]


async def test_a_stall_never_answers_and_does_not_hold_up_the_end(client: Any) -> None:
    began = time.perf_counter()
    async with Twin() as twin:
        settings = hikari.impl.HTTPSettings(timeouts=hikari.impl.HTTPTimeoutSettings(total=0.2))
        async with client(twin, http_settings=settings, max_retries=0) as rest:
            twin.faults.stall(on=CREATE)
            with pytest.raises(hikari.HTTPError):
                await rest.create_message(twin.channel().id, "x")
        assert twin.texts() == []
    assert time.perf_counter() - began < 3


async def test_an_answer_can_be_lost_after_the_effect(twin: Twin, client: Any) -> None:
    async with client(twin, max_retries=0) as rest:
        home = twin.channel().id
        for number, plan in enumerate(
            (
                lambda: twin.faults.drop(on=CREATE, after_effect=True),
                lambda: twin.faults.status(502, on=CREATE, after_effect=True),
            ),
            start=1,
        ):
            plan()
            with pytest.raises(hikari.HTTPError):
                await rest.create_message(home, "x")
            assert len(twin.texts()) == number


async def test_a_refused_request_has_no_effect_to_lose(twin: Twin, client: Any) -> None:
    fault = twin.faults.drop(on=CREATE, after_effect=True)
    async with client(twin, max_retries=0) as rest:
        with pytest.raises(hikari.BadRequestError):
            await rest.create_message(twin.channel().id, " ")
        assert fault.happened == 0


async def test_delays_come_before_or_after_the_effect(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    twin.faults.delay(0.4, on=CREATE)
    twin.faults.delay(0.4, on=CREATE, after_effect=True, skip=1)
    first = asyncio.create_task(rest.create_message(home, "late"))
    await asyncio.sleep(0.06)
    assert twin.texts() == []
    await first
    second = asyncio.create_task(rest.create_message(home, "early"))
    await twin.journal.until(lambda: twin.texts() == ["late", "early"], 2)
    assert not second.done()
    await second


async def test_latency_is_for_every_answer(twin: Twin, rest: Rest) -> None:
    twin.faults.latency_s = 0.1
    began = time.perf_counter()
    await rest.create_message(twin.channel().id, "x")
    assert time.perf_counter() - began >= 0.09


async def test_a_fault_can_be_for_one_channel(twin: Twin, client: Any) -> None:
    async with client(twin, max_retries=0) as rest:
        bad, good = twin.channel("bad").id, twin.channel("good").id
        twin.faults.status(500, on=CREATE, channel=bad, times=None)
        await rest.create_message(good, "x")
        for _ in range(2):
            with pytest.raises(hikari.InternalServerError):
                await rest.create_message(bad, "x")
        twin.faults.clear()
        await rest.create_message(bad, "x")


def test_faults_by_chance_repeat_with_their_seed() -> None:
    def run(seed: int) -> list[bool]:
        faults = Faults(seed=seed)
        faults.drop(on=EDIT, chance=0.5, times=None)
        called = Called(EDIT)
        return [faults.due(called, after_effect=False) is not None for _ in range(50)]

    assert run(1) == run(1) != run(2)
    assert 10 < sum(run(1)) < 40


def test_a_misspelt_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match="no setting 'after'"):
        Faults().drop(on=CREATE, after=True)


async def test_a_misspelt_route_is_an_error(twin: Twin) -> None:
    with pytest.raises(ValueError, match=r"did you mean 'POST /channels/\{channel\}/typing'"):
        twin.faults.drop(on="POST /channel/{channel}/typing")
    with pytest.raises(ValueError, match="no route is called"):
        twin.journal.count("POST /channels/{id}/typing")
    early = Faults()
    early.drop(on="GET /nowhere")
    with pytest.raises(ValueError, match="no route is called 'GET /nowhere'"):
        Twin(faults=early)


Run = Callable[..., None]


async def cancelled_soon(call: Any, after_s: float = 0.05) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, after_s)


async def hangs(*calls: Any, for_s: float = 1.2) -> bool:
    tasks = [asyncio.ensure_future(call) for call in calls]
    _, pending = await asyncio.wait(tasks, timeout=for_s)
    return len(pending) == len(tasks)


def test_h1_a_cancelled_wait_kills_the_bucket_of_the_channel(broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        home, other = twin.channel().id, twin.channel("other").id
        for text in "ab":
            await rest.create_message(home, text)
        await cancelled_soon(rest.create_message(home, "c"))
        assert await hangs(rest.create_message(home, "d"))  # its turn came four times over
        await asyncio.wait_for(rest.create_message(other, "e"), 2)
        assert twin.texts() == ["a", "b"]

    broken(story, rules=limits({"message.create": Limit(2, 0.6)}))


def test_h1_without_a_cancel_the_same_calls_go_through(broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        home = twin.channel().id
        for text in "abcd":
            await rest.create_message(home, text)
        assert twin.texts() == ["a", "b", "c", "d"]
        assert twin.journal.count(status=429) == 0

    broken(story, rules=limits({"message.create": Limit(2, 0.6)}))


def test_h2_a_cancelled_wait_for_the_global_limit_hangs_everything(broken: Run) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        first, second = twin.channel().id, twin.channel("second").id
        for channel in (first, second):
            await rest.create_message(channel, "warm")
        twin.faults.limited(0.8, on=CREATE, scope="global")
        told_to_wait = asyncio.create_task(rest.create_message(first, "a"))
        await twin.journal.until(lambda: twin.journal.count(status=429))
        await asyncio.sleep(0.15)  # hikari has read the answer
        await cancelled_soon(rest.create_message(second, "b"))
        await asyncio.wait_for(told_to_wait, 2)
        assert await hangs(
            rest.create_message(first, "c"), rest.create_message(second, "d"), for_s=0.8
        )

    broken(story)


def test_h3_a_limit_too_long_tells_one_waiter_and_forgets_the_rest(
    broken: Run, limits: Any
) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        calls = [rest.create_message(twin.channel().id, str(n)) for n in range(6)]
        tasks = [asyncio.ensure_future(call) for call in calls]
        done, pending = await asyncio.wait(tasks, timeout=1)
        failed = [one for one in done if one.exception() is not None]
        assert failed
        assert all(isinstance(one.exception(), hikari.RateLimitTooLongError) for one in failed)
        assert len(pending) >= 3

    rules = limits({"message.create": Limit(1, 60.0)})
    broken(story, rules=rules, max_rate_limit=10)


def test_h4_a_cold_route_puts_all_channels_into_one_bucket(broken: Run, limits: Any) -> None:
    took: dict[str, float] = {}

    async def send_all(name: str, twin: Twin, rest: Rest) -> None:
        twin.faults.latency_s = 0.02
        channels = [twin.channel(f"c{n}").id for n in range(14)]
        began = time.perf_counter()
        first, *others = channels
        if name == "gated":  # let one call learn the route, then open for all
            await rest.create_message(first, "x")
        else:
            others = channels
        await asyncio.gather(*(rest.create_message(one, "x") for one in others))
        took[name] = time.perf_counter() - began
        assert twin.journal.count(CREATE, status=200) == 14

    rules = limits({"message.create": Limit(5, 1.0)})
    broken(lambda twin, rest: send_all("cold", twin, rest), rules=rules)
    broken(lambda twin, rest: send_all("gated", twin, rest), rules=rules)
    # Nine of fourteen wait 0.2 s each for a bucket that is not theirs.
    assert took["cold"] > 1.2
    assert took["cold"] > 2 * took["gated"]


def test_h5_a_known_route_and_an_unknown_channel_storm(broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        await rest.create_message(twin.channel("warm").id, "x")
        twin.faults.latency_s = 0.03
        fresh = twin.channel("fresh").id
        await asyncio.gather(*(rest.create_message(fresh, str(n)) for n in range(20)))
        assert len(twin.texts("fresh")) == 20
        assert twin.journal.count(CREATE, status=429, channel=fresh) >= 10
        assert twin.texts("fresh") != [str(n) for n in range(20)]  # and the order is lost

    broken(story, rules=limits({"message.create": Limit(5, 0.5)}))


def test_h6_unknown_buckets_do_not_heed_the_global_limit(broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        await rest.create_message(twin.channel("warm").id, "x")
        channels = [twin.channel(f"c{n}").id for n in range(40)]
        await asyncio.gather(*(rest.create_message(one, "x") for one in channels))
        # Each refused call comes back at once instead of waiting its turn.
        assert twin.journal.count(CREATE, status=429) > len(channels)
        assert all(one.scope == "global" for one in twin.journal.requests(status=429))

    broken(story, rules=limits({}, global_limit=Limit(10, 0.6, Style.FIXED)))


@pytest.mark.parametrize("skew_s", [-3.0, 0.0, 0.8])
def test_h7_hikari_believes_its_own_wall_clock(skew_s: float, broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        twin.faults.latency_s = 0.02
        twin.faults.clock_skew_s = skew_s
        home = twin.channel().id
        began = time.perf_counter()
        await asyncio.gather(*(rest.create_message(home, str(n)) for n in range(5)))
        took = time.perf_counter() - began
        refused = twin.journal.count(CREATE, status=429)
        if skew_s < 0:  # ours is ahead: the reset seems long past, so it asks again at once
            assert refused >= 1
        elif skew_s == 0:
            assert refused == 0
        else:  # ours is behind: it waits that much longer than asked to
            assert refused == 0
            assert took > skew_s + 0.3

    broken(story, rules=limits({"message.create": Limit(3, 0.6)}))


@pytest.mark.anyio
async def test_h8_a_lost_answer_is_a_duplicate_without_a_nonce(twin: Twin, rest: Rest) -> None:
    plain, safe = twin.channel("plain"), twin.channel("safe")
    for channel in (plain, safe):  # warm, or the one would wait for the other (H4)
        await rest.create_message(channel.id, "warm")
        twin.faults.drop(on=CREATE, after_effect=True, channel=channel.id)
    sent, again = await asyncio.gather(
        rest.create_message(plain.id, "hello"),
        rest.create_message(safe.id, "hello", nonce="one-of-a-kind"),
    )
    assert twin.texts(plain) == ["warm", "hello", "hello"]
    assert twin.texts(safe) == ["warm", "hello"]
    assert again.id == twin.messages(safe)[1].id
    assert sent.id == twin.messages(plain)[2].id


def test_h9_closing_the_client_cancels_callers_that_nobody_cancelled(
    broken: Run, limits: Any
) -> None:
    seen: list[str] = []

    async def story(twin: Twin, _: Rest) -> None:
        home = twin.channel().id
        app = hikari.RESTApp(url=twin.url)  # one that the story may close
        await app.start()
        rest = app.acquire(twin.token, hikari.TokenType.BOT)
        rest.start()
        await rest.create_message(home, "a")

        async def waits() -> None:
            try:
                await rest.create_message(home, "b")
            except asyncio.CancelledError:
                task = asyncio.current_task()
                assert task is not None
                seen.append(f"cancelled, though {task.cancelling()} asked for it")
                raise

        async with anyio.create_task_group() as group:
            group.start_soon(waits)
            await asyncio.sleep(0.1)
            await app.close()
            await asyncio.sleep(0.1)
        seen.append("the group ended as if all were well")

    broken(story, rules=limits({"message.create": Limit(1, 5.0)}))
    assert seen[0] == "cancelled, though 0 asked for it"
    assert seen[1:] == ["the group ended as if all were well"]


def test_h10_the_typing_context_cancels_its_own_wait(broken: Run, limits: Any) -> None:
    async def story(twin: Twin, rest: Rest) -> None:
        home = twin.channel().id
        await rest.trigger_typing(home)
        async with rest.trigger_typing(home):
            await asyncio.sleep(0.05)  # it waits for its bucket
        assert await hangs(rest.trigger_typing(home), for_s=1.0)

    broken(story, rules=limits({"typing": Limit(1, 0.3)}))


@pytest.mark.anyio
async def test_h10_typing_sends_nothing_hides_errors_and_outlives_itself(
    twin: Twin, rest: Rest
) -> None:
    home = twin.channel().id
    async with rest.trigger_typing(home):
        pass
    await asyncio.sleep(0.05)
    assert twin.journal.count(TYPING) == 0  # left at once: nothing was sent

    twin.faults.latency_s = 0.2
    async with rest.trigger_typing(home):
        await twin.journal.until(lambda: twin.journal.count(TYPING))
    twin.faults.latency_s = 0.0
    await rest.create_message(home, "the answer")
    await twin.journal.until(lambda: twin.journal.count(TYPING, status=204))
    assert twin.is_typing()  # after the message, for ten seconds

    twin.deny("general", Permission.SEND_MESSAGES)
    async with rest.trigger_typing(home):
        await twin.journal.until(lambda: twin.journal.count(TYPING, status=403))
        await asyncio.sleep(0.05)  # and no caller was told
