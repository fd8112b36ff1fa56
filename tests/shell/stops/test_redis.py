"""Stops over Redis: what goes wrong there, and that streams do not care."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.lowlevel
import pytest

from minamo.errors import BadSetting
from minamo.shell.stops import redis_link
from minamo.shell.stops import redis_registry as announcing
from minamo.shell.stops.redis_registry import EXPIRE_S, Heartbeat, RedisStops
from minamo.shell.stops.registry import MemoryStops, RequestOutcome, StopSignal
from minamo.testing import run_with_virtual_clock
from support.redis_server import RedisServer
from support.waiting import until

pytestmark = pytest.mark.anyio


SECRET = "hunter2-and-more"
PATIENT_MS = 10_000
# Where answers are missed on purpose, but others are not: five times the default.
MODEST_MS = 500


async def until_there(client: Any, *keys: str) -> None:
    with anyio.fail_after(10):
        while await client.exists(*keys) < len(keys):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def until_gone(client: Any, key: str) -> None:
    with anyio.fail_after(10):
        while await client.exists(key):  # noqa: ASYNC110
            await anyio.sleep(0.01)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


async def test_redis_is_killed_and_comes_back(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "minamo.redis")
    before, during, after, near = StopSignal(), StopSignal(), StopSignal(), StopSignal()
    async with (
        RedisStops(own_redis.url, answer_timeout_ms=MODEST_MS) as here,
        RedisStops(own_redis.url, answer_timeout_ms=MODEST_MS) as there,
    ):
        with here.register("before", 7, before):
            # Many connections, all of which will be broken.
            answers = await asyncio.gather(*(there.has_stop_request(channel_id=7) for _ in "12345"))
            assert answers == [RequestOutcome.NO] * 5
            own_redis.kill()
            await until(lambda: not here.healthy and not there.healthy)

            with here.register("during", 8, during), there.register("near", 9, near):
                assert await there.request_stop(stream_id="during") is RequestOutcome.UNREACHABLE
                assert await there.kill(channel_id=7) is RequestOutcome.UNREACHABLE
                assert await there.has_stop_request(channel_id=7) is RequestOutcome.UNREACHABLE
                assert await there.running(7) == []
                # What runs in the same process never needed Redis.
                assert await there.request_stop(stream_id="near") is RequestOutcome.YES
                assert await there.request_stop(channel_id=9) is RequestOutcome.YES
                assert await there.running(9) == ["near"]
                await anyio.sleep(0.3)  # several attempts to connect, and still one warning
                assert len(warnings_of(caplog)) == 2, "one for each of the two registries"
                assert "cannot be reached (ConnectionError)" in warnings_of(caplog)[0]

                own_redis.start()
                await until(lambda: here.healthy and there.healthy)
                assert before.strongest is None, "what failed stays failed"
                with here.register("after", 7, after):
                    assert await there.running(7) == ["after", "before"]
                    assert await there.request_stop(stream_id="during") is RequestOutcome.YES
                    assert await there.request_stop(channel_id=7) is RequestOutcome.YES
                assert None not in (before.strongest, during.strongest, after.strongest)
        assert len(warnings_of(caplog)) == 2
        assert [r.levelname for r in caplog.records] == ["WARNING"] * 2 + ["INFO"] * 2


async def test_connections_that_redis_closed_for_idling_do_no_harm(own_redis: RedisServer) -> None:
    async with (
        RedisStops(own_redis.url, answer_timeout_ms=PATIENT_MS) as here,
        RedisStops(own_redis.url, answer_timeout_ms=PATIENT_MS) as there,
    ):
        with here.register("s1", 7, StopSignal()):
            await asyncio.gather(*(there.has_stop_request(channel_id=7) for _ in "12345"))
            async with RedisStops(own_redis.url) as third:
                await third._link.client.client_kill_filter(_type="normal", skipme=True)
            assert await there.request_stop(channel_id=7) is RequestOutcome.YES
            assert here.healthy
            assert there.healthy


async def test_redis_comes_later(own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.shell.stops.redis_registry._OPEN_S", 0.05)
    own_redis.kill()
    stop_signal = StopSignal()
    async with (
        RedisStops(own_redis.url, answer_timeout_ms=MODEST_MS) as here,
        RedisStops(own_redis.url, answer_timeout_ms=MODEST_MS) as there,
    ):
        assert not here.healthy
        with here.register("s1", 7, stop_signal):
            assert await there.request_stop(stream_id="s1") is RequestOutcome.UNREACHABLE
            own_redis.start()
            await until(lambda: here.healthy and there.healthy)
            assert await there.request_stop(stream_id="s1") is RequestOutcome.YES


async def test_a_frozen_redis_is_found_out(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, figure: Any
) -> None:
    monkeypatch.setattr(redis_link, "_PING_EVERY_S", 0.2)
    monkeypatch.setattr(redis_link, "COMMAND_S", 0.3)
    async with (
        RedisStops(own_redis.url) as here,
        RedisStops(own_redis.url) as quick,
        RedisStops(own_redis.url, answer_timeout_ms=PATIENT_MS) as patient,
    ):
        every = (here, quick, patient)
        with here.register("s1", 7, StopSignal()):
            own_redis.freeze()
            asked_at = anyio.current_time()
            assert await quick.request_stop(channel_id=7) is RequestOutcome.UNREACHABLE
            took_ms = (anyio.current_time() - asked_at) * 1000
            figure(f"stop over a frozen Redis: unreachable after {took_ms:.0f} ms")
            assert took_ms < 500, "100 ms, and time for a busy machine"
            await until(lambda: not any(stops.healthy for stops in every))
            own_redis.thaw()
            await until(lambda: all(stops.healthy for stops in every))
            assert await patient.request_stop(channel_id=7) is RequestOutcome.YES


async def test_a_process_that_hears_nothing_does_not_pass_for_none(
    redis_server: RedisServer, prefix: str
) -> None:
    async with (
        RedisStops(redis_server.url, prefix=prefix) as here,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
    ):
        with here.register("s1", 7, StopSignal()):
            await until_there(there._link.client, f"{prefix}:channel:7", f"{prefix}:stream:s1")
            await here._link.close()
            assert await there.request_stop(channel_id=7) is RequestOutcome.UNREACHABLE
            assert await there.request_stop(stream_id="s1") is RequestOutcome.UNREACHABLE
            assert await there.request_stop(channel_id=8) is RequestOutcome.NO


async def test_a_redis_that_came_back_empty_does_not_pass_for_none(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process with the stream is not there again yet, and its announcement is gone."""
    monkeypatch.setattr(redis_link, "RETURN_S", 0.5)
    async with (
        RedisStops(own_redis.url) as here,
        RedisStops(own_redis.url, answer_timeout_ms=PATIENT_MS) as there,
    ):
        with here.register("s1", 7, StopSignal()):
            assert await there.request_stop(channel_id=8) is RequestOutcome.NO
            own_redis.kill()
            await until(lambda: not there.healthy)
            await here._link.close()
            own_redis.start()
            await until(lambda: there.healthy)
            assert await there.request_stop(channel_id=7) is RequestOutcome.UNREACHABLE
            assert await there.request_stop(stream_id="s1") is RequestOutcome.UNREACHABLE
            await anyio.sleep(0.5)
            assert await there.request_stop(channel_id=8) is RequestOutcome.NO


async def test_announcements_are_renewed_and_taken_back(
    redis_server: RedisServer, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "RENEW_S", 0.05)
    s1, s2, channel = f"{prefix}:stream:s1", f"{prefix}:stream:s2", f"{prefix}:channel:7"
    async with RedisStops(redis_server.url, prefix=prefix) as stops:
        client = stops._link.client
        with stops.register("s1", 7, StopSignal()):
            with stops.register("s2", 7, StopSignal()):
                await until_there(client, s1, s2, channel)
                assert 0 < await client.pttl(s1) <= announcing.EXPIRE_S * 1000
                await client.delete(s1)
                await until_there(client, s1)
            await until_gone(client, s2)
            assert await client.exists(channel), "s1 still runs there"
    async with RedisStops(redis_server.url, prefix=prefix) as later:
        assert await later._link.client.keys(f"{prefix}:*") == []


async def test_two_bots_share_one_redis(redis_server: RedisServer, prefix: str) -> None:
    stop_signal = StopSignal()
    async with (
        RedisStops(redis_server.url, prefix=prefix) as mine,
        RedisStops(
            redis_server.url, prefix=f"{prefix}:other", answer_timeout_ms=PATIENT_MS
        ) as theirs,
    ):
        with mine.register("s1", 7, stop_signal):
            assert await theirs.request_stop(stream_id="s1") is RequestOutcome.NO
            assert await theirs.kill(channel_id=7) is RequestOutcome.NO
            assert await theirs.running(7) == []
    assert stop_signal.strongest is None


RUBBISH = [
    b"", b"hello", b"\xff\xfe", b"null", b"[]", b"{}", b"[" * 30_000, b"x" * 100_000,
    b'{"v":2,"id":"a","sender":"b","op":"find","channel":7}',
    b'{"v":1,"id":"a","sender":"b","op":"find"}',
    b'{"v":1,"id":"a","sender":"b","op":"find","channel":-7}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":["s1"]}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":["s1"],"kind":"boom"}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":["s1"],"kind":"kill","more":1}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":[1],"kind":"kill"}',
    b'{"v":1,"id":"a","sender":"","op":"request","streams":["s1"],"kind":"kill"}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":["s1"],"kind":"kill","channel":7}',
    b'{"v":1,"id":"a","sender":"b","op":"request","streams":["' + b"s" * 65 + b'"],"kind":"kill"}',
]  # fmt: skip


async def test_rubbish_is_ignored_and_counted(redis_server: RedisServer, prefix: str) -> None:
    stop_signal = StopSignal()
    async with (
        RedisStops(redis_server.url, prefix=prefix) as here,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
    ):
        with here.register("s1", 7, stop_signal):
            client, mailbox = there._link.client, f"{prefix}:answer:{here._broadcast.me}"
            for data in RUBBISH:
                await client.publish(f"{prefix}:ask", data)
                await client.publish(mailbox, data)
            # An answer that nobody waits for is no rubbish, only late.
            await client.publish(mailbox, b'{"v":1,"id":"a","sender":"b","streams":[]}')
            assert await there.has_stop_request(stream_id="s1") is RequestOutcome.NO
            assert stop_signal.strongest is None
            assert here.rubbish == 2 * len(RUBBISH)
            assert there.rubbish == len(RUBBISH)
            assert here.healthy


async def test_a_listener_that_fails_takes_nobody_along(
    redis_server: RedisServer, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = StopSignal(), StopSignal()

    def fail(wish: object) -> None:
        raise ZeroDivisionError

    async with (
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as here,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
    ):
        with (
            here.register("bad", 7, bad),
            here.register("good", 8, good),
            bad.listen(fail),
        ):
            assert await there.request_stop(stream_id="bad") is RequestOutcome.NO
            assert await there.request_stop(stream_id="good") is RequestOutcome.YES
            assert here.healthy
    assert "a stop request was delivered and failed" in caplog.text


async def test_the_password_is_never_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = RedisServer(tmp_path, "--requirepass", SECRET)
    try:
        good = f"redis://:{SECRET}@127.0.0.1:{server.port}/0"
        async with RedisStops(good, answer_timeout_ms=PATIENT_MS) as stops:
            assert stops.healthy
            assert await stops.request_stop(stream_id="s1") is RequestOutcome.NO
            shown = [repr(stops), str(stops), repr(stops._link), repr(stops._broadcast)]
        async with RedisStops(f"redis://me:{SECRET}-wrong@127.0.0.1:{server.port}/0") as stops:
            assert not stops.healthy
            assert await stops.request_stop(stream_id="s1") is RequestOutcome.UNREACHABLE
            shown.append(repr(stops))
    finally:
        server.kill()
    assert warnings_of(caplog) != []
    assert SECRET not in caplog.text + "".join(shown)
    assert f"<RedisStops at redis://127.0.0.1:{server.port}, prefix 'minamo'" in shown[0]


@pytest.mark.parametrize(
    "url",
    [
        "", None, f"http://:{SECRET}@host", f"redis://:{SECRET}@", f"redis://:p@host:{SECRET}/0",
        f"redis://host:0/{SECRET}", f"redis://[{SECRET}/0", f"redis://host/{SECRET}",
        f"redis://host/0?{SECRET}=1", f"redis://:{SECRET}@host?protocol=3",
        f"redis://:{SECRET}@host?decode_responses=True",
    ],
)  # fmt: skip
def test_a_bad_url_is_refused_and_not_quoted(url: Any) -> None:
    with pytest.raises(BadSetting) as caught:
        RedisStops(url)
    assert str(caught.value).startswith("url ")
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in repr(error)
        error = None if error.__suppress_context__ else error.__context__


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://host", "redis://host:6379"),
        (f"rediss://me:{SECRET}@host:1234/2?ssl_cert_reqs=required", "rediss://host:1234"),
        (f"unix://me@/run/redis.sock?db=1&password={SECRET}", "unix:///run/redis.sock"),
        ("redis://[::1]:7000/0", "redis://[::1]:7000"),
    ],
)
def test_what_is_shown_of_a_url(url: str, place: str) -> None:
    assert f"at {place}, " in repr(RedisStops(url))


def test_settings_are_checked() -> None:
    for prefix in ("", "a b", "x" * 65, "{a}", "*", None):
        with pytest.raises(BadSetting, match="prefix must be"):
            RedisStops("redis://host", prefix=prefix)  # type: ignore[arg-type]
    for answer_timeout_ms in (0, 60_001):
        with pytest.raises(BadSetting, match="answer_timeout_ms must be"):
            RedisStops("redis://host", answer_timeout_ms=answer_timeout_ms)


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(BadSetting, match=r"pip install 'hikari-minamo\[redis\]'"):
        RedisStops("redis://host")


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_nothing_is_left_after_closing(own_redis: RedisServer) -> None:
    def settled() -> bool:
        return _open_files() == files and len(asyncio.all_tasks()) == tasks

    async with RedisStops(own_redis.url):
        pass  # whatever is opened once and kept, such as by the resolver
    await anyio.sleep(0.05)
    files, tasks = _open_files(), len(asyncio.all_tasks())
    for killed in (False, True):
        async with RedisStops(own_redis.url) as here, RedisStops(own_redis.url) as there:
            with here.register("s1", 7, StopSignal()):
                await asyncio.gather(*(there.request_stop(stream_id="s1") for _ in range(30)))
                assert not settled()
                if killed:
                    own_redis.kill()
                    await until(lambda: not there.healthy)
        await until(settled, within_s=2)


async def test_a_request_can_be_cancelled(own_redis: RedisServer) -> None:
    async with RedisStops(own_redis.url, answer_timeout_ms=60_000) as stops:
        own_redis.freeze()
        with anyio.move_on_after(0.05) as scope:
            await stops.request_stop(stream_id="s1")
        own_redis.thaw()
        assert scope.cancelled_caught
        assert stops._broadcast._asked == {}
        assert await stops.request_stop(stream_id="s1") is RequestOutcome.NO


class Pipeline:
    """A Redis that only remembers when each key was last set."""

    def __init__(self) -> None:
        self.set_at: dict[str, float] = {}

    def pipeline(self, *, transaction: bool) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def set(self, key: str, value: str, px: int) -> None:
        self.set_at[key] = anyio.current_time()

    def delete(self, key: str) -> None:
        self.set_at.pop(key, None)

    def eval(self, *_: Any) -> None:
        pass

    async def execute(self) -> None:
        pass


def test_a_long_stream_stays_announced_while_others_come_and_go() -> None:
    oldest = 0.0

    async def main() -> None:
        nonlocal oldest
        registry, redis = MemoryStops(), Pipeline()
        heartbeat = Heartbeat(registry, "p", "me")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heartbeat.run, lambda: redis)
            with ExitStack() as stack:
                stack.enter_context(registry.register("long", 1, StopSignal()))
                heartbeat.begun("long")
                for number in range(60):  # each change comes before everything is renewed
                    await anyio.sleep(1.0)
                    with registry.register(f"short{number}", 2, StopSignal()):
                        heartbeat.begun(f"short{number}")
                        await anyio.lowlevel.checkpoint()
                    heartbeat.ended(f"short{number}", 2)
                    oldest = max(oldest, anyio.current_time() - redis.set_at["p:stream:long"])
            tasks.cancel_scope.cancel()

    run_with_virtual_clock(main)
    assert oldest < EXPIRE_S / 2
