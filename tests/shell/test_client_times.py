"""How soon a stop acts, in real time, and that no text that a chat user provokes holds the event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from minamo.core.chunks import ErrorChunk
from minamo.core.config import StreamConfig
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Twin
from minamo.wire.conversation import user
from minamo.wire.limits import IMAGE_BYTES_MAX
from support.bot import Rig, rigged, streaming
from support.loop_watchdog import WATCHDOG
from support.provider_server import saying, serving
from support.recordings import adapter
from support.slow_texts import LIMIT_S, REFERENCE_S, reference

pytestmark = pytest.mark.anyio


ROUNDS = 20
DECIDED_MS = 50.0
DRAIN_MS = 5_000


async def stopped(rig: Rig, when: Callable[[], bool], channel: str = "general") -> Any:
    """Ask, wait for *when*, stop, and give the result."""
    before = len(rig.results)
    await rig.twin.say("go", channel=channel, user="ann")
    await rig.until(when)
    place = rig.twin.channel(channel).id
    assert await rig.client.request_stop(channel_id=place, requester="1")
    await rig.until(lambda: len(rig.results) > before)
    result = rig.results[-1]
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
    return result


def judged(results: list[Any], what: str, figure: Callable[[str], None]) -> None:
    decided = sorted(one.metrics["stop_latency_ms"] for one in results)
    settled = max(one.metrics["stop_settled_ms"] for one in results)
    figure(
        f"a stop {what}: decided in {decided[-1]:.1f} ms, settled in {settled:.0f} ms "
        f"(worst of {len(results)})"
    )
    assert decided[-1] <= DECIDED_MS
    assert settled <= DRAIN_MS + DECIDED_MS


class Silent:
    """Says a little, then nothing; tells when it was let go."""

    def __init__(self) -> None:
        self.waits = self.was_closed = False

    async def __aiter__(self) -> Any:
        try:
            yield "So far"
            self.waits = True
            await anyio.sleep_forever()
        finally:
            self.was_closed = True


async def test_p10_a_stop_while_the_provider_is_silent(twin: Twin, figure: Any) -> None:
    sources: list[Silent] = []

    def source(_: Any) -> Silent:
        sources.append(Silent())
        return sources[-1]

    results = []
    async with rigged(twin, streaming(source, config=StreamConfig(degree=0))) as rig:
        for number in range(ROUNDS):
            waits = lambda count=number: len(sources) > count and sources[-1].waits  # noqa: E731
            # Each in a channel of its own: the pace of one channel is not what this is about.
            results.append(await stopped(rig, waits, f"room-{number}"))
            assert sources[-1].was_closed
    assert all(one.accumulated_text == "So far" for one in results)
    judged(results, "while the provider is silent", figure)


async def test_p10_a_stop_while_discord_limits_the_rate(twin: Twin, figure: Any) -> None:
    twin.faults.limited(60.0, on=CREATE, scope="shared", skip=1)
    script = [f"Paragraph {number}.\n\n" for number in range(50)]
    async with rigged(
        twin,
        streaming(lambda _: ScriptedProvider(script, hangs=True)),
        config=StreamConfig(drain_timeout_ms=500),
    ) as rig:
        limited = lambda: twin.journal.count(CREATE, status=429) > 0  # noqa: E731
        result = await stopped(rig, limited)
        assert result.metrics["stop_settled_ms"] <= 500 + DECIDED_MS
        judged([result], "while Discord limits the rate", figure)
        rig.results.clear()


@pytest.mark.parametrize(("kind", "reason"), [("stop", "stop"), ("kill", "killed")])
async def test_p10_a_stop_ends_the_wait_of_a_notice(twin: Twin, kind: str, reason: str) -> None:
    pacer = Pacer(PACES, RateLimit(2, 60.0))  # one for typing, one for the text
    script = ["So far.\n\n", ErrorChunk("api_error")]
    async with rigged(twin, streaming(script), pacer=pacer) as rig:
        place = twin.channel("general").id
        await twin.say("go", user="ann")
        await rig.until(lambda: bool(rig.said()))
        await anyio.sleep(0.2)
        assert not rig.results  # its notice waits for Discord's limits
        began = anyio.current_time()
        request = rig.client.kill if kind == "kill" else rig.client.request_stop
        assert await request(channel_id=place)
        await rig.until(lambda: bool(rig.results))
        assert anyio.current_time() - began < 1
    (result,) = rig.results
    assert (result.status, result.accumulated_text) == ("error", "So far.")
    assert [(one.outcome, one.reason) for one in result.receipts] == [
        ("delivered", ""),
        ("not_sent", reason),
    ]
    assert rig.said() == ["So far."]


@pytest.mark.usefixtures("typing_pauses")
async def test_p10_a_stop_while_it_pretends_to_type(twin: Twin, figure: Any) -> None:
    # It would type for three seconds; the stop comes when the model has said all.
    script = ["First.", (0.3, "\n\n" + "x" * 300 + "\n\n"), (0.0, "y")]
    heard: list[str] = []
    results = []
    async with rigged(
        twin,
        streaming(
            lambda _: ScriptedProvider(script, hangs=True),
            on_stream_progress=lambda: heard.append("chunk or receipt"),
        ),
    ) as rig:
        for channel in ("a", "b", "c", "d", "e"):
            heard.clear()
            said = lambda place=channel: rig.said(place) == ["First."] and len(heard) >= 4  # noqa: E731
            results.append(await stopped(rig, said, channel))
            # What was said is sent at once, without the three seconds of pretended typing.
            assert "\n\n".join(rig.said(channel)) == "First.\n\n" + "x" * 300 + "\n\ny"
    judged(results, "while it pretends to type", figure)
    assert max(one.metrics["stop_settled_ms"] for one in results) < 2_500


@pytest.mark.parametrize("beside", [False, True], ids=["the reply", "its thoughts"])
async def test_a_bot_that_closes_still_learns_what_was_shown(twin: Twin, beside: bool) -> None:
    # Discord takes the first message and then falls silent.
    stalled = twin.faults.stall(on=CREATE, skip=1)
    script = ["<think>hm</think>First."] if beside else ["First.\n\n", "Second."]
    async with rigged(
        twin, streaming(script), drain_s=1.0, thoughts=ThoughtDisplay("spoiler")
    ) as rig:
        await twin.say("go")
        await rig.until(lambda: stalled.happened == 1)
        await rig.bot.close()
        await rig.until(lambda: bool(rig.results))
    assert rig.results[0].accumulated_text == "First."
    assert rig.said() == ["First."]


@contextmanager
def watched_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], float]]:
    """Measure every callback of the event loop; gives the processor time of the longest.

    Only the time of this thread counts, and a computer that is slow now is taken for as slow.
    """
    run = asyncio.Handle._run
    here = threading.get_ident()
    worst = 0.0

    def measured(handle: asyncio.Handle) -> None:
        nonlocal worst
        begin = time.thread_time()
        run(handle)
        if threading.get_ident() == here:
            worst = max(worst, time.thread_time() - begin)

    slowness = min(reference() for _ in range(10))
    with monkeypatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", measured)
        yield lambda: worst / max(1.0, slowness / REFERENCE_S)


@pytest.mark.parametrize("edit", [False, True])
@pytest.mark.parametrize("unit", ["*a ", "> _Mr. \n", "|---|---|\n"])
async def test_p07_a_lane_that_is_behind_holds_nobody_up(
    unit: str, edit: bool, twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minamo.shell.delivery.typing.PAUSE_MAX_S", 0.0)  # do not pretend to type
    hostile = (unit * 8_000)[:7_000]
    # More messages than a burst has, so that what comes then waits and is fitted together.
    script = [*(f"Point {number}.\n\n" for number in range(6)), (0.1, hostile), (30.0, "never")]
    held = []
    async with rigged(twin, streaming(script, edit=edit)) as rig:
        # The garbage of all other tests, say, can be collected at any time; but not each time.
        while len(held) < 3 and (not held or min(held) > LIMIT_S):
            before = len("".join(rig.said()))
            with watched_loop(monkeypatch) as longest:
                await twin.say("go")
                await rig.until(lambda: len("".join(rig.said())) > before + 1_000)  # noqa: B023
                held.append(longest())
            await rig.client.kill(channel_id=twin.channel("general").id)
            await rig.until(lambda: len(rig.results) == len(held))
    assert min(held) < LIMIT_S


LARGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 35_000  # 9 MB
_GEMINI = (
    b'{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"%s"}},'
    b'{"text":"So."}]},"finishReason":"STOP"}]}'
)
PICTURES = {
    "openai": b'data: {"choices":[{"delta":{"content":"So.","images":[{"image_url":{"url":'
    b'"data:image/png;base64,%s"}}]},"finish_reason":"stop"}]}\n\n',
    "responses": b'data: {"type":"response.completed","response":{"output":[{"type":'
    b'"image_generation_call","result":"%s"},{"type":"message","content":[{"text":"So."}]}]}}\n\n',
    "google": b"data: " + _GEMINI + b"\r\n\r\n",
    "google, not streamed": _GEMINI,
}


@pytest.mark.parametrize("name", PICTURES)
async def test_a_picture_of_9_mb_in_and_out_holds_nobody_up(
    name: str, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    data = PICTURES[name] % b64encode(LARGE)
    pieces = [data[at : at + 65_536] for at in range(0, len(data), 65_536)]
    shown = [LARGE[: IMAGE_BYTES_MAX - number] for number in (0, 1, 1_000_000)]
    held = []
    # The provider has an event loop of its own, in another thread.
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(saying(*pieces))) as server,
    ):
        async with adapter(name.split(",")[0], server.url) as llm:
            while len(held) < 3 and (not held or min(held) > LIMIT_S / 5):
                with watched_loop(monkeypatch) as longest:
                    chunks = [chunk async for chunk in llm.chat([user("Hi", images=shown)])]
                    held.append(longest())
                assert [chunk.data for chunk in chunks if chunk.type == "file"] == [LARGE]
                assert "".join(chunk.content for chunk in chunks if chunk.type == "text") == "So."
                body = server.requests[-1]["body"]
                assert [body.count(b64encode(image) + b'"') for image in shown] == [1, 1, 1]
                assert server.requests[-1]["headers"]["Content-Length"] == str(len(body))
    figure(f"a picture of 9 MB, {name}: the longest step takes {min(held) * 1000:.1f} ms")
    # Encoded or decoded in one step it would take more than this.
    assert min(held) < LIMIT_S / 2


async def test_a_task_that_holds_the_loop_is_found() -> None:
    async def compute() -> None:
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            pass

    await asyncio.create_task(compute())
    assert "compute" in WATCHDOG.held[0][1]
    WATCHDOG.held.clear()


@contextmanager
def kept_garbage() -> Iterator[list[object]]:
    """Keep what only the garbage collector would free, and yield it in a list."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    found: list[object] = []
    try:
        yield found
    finally:
        gc.collect()
        gc.set_debug(0)
        gc.enable()
        found += gc.garbage
        gc.garbage.clear()


@pytest.mark.parametrize("edit", [False, True])
@pytest.mark.parametrize("stops", [False, True])
async def test_a_reply_leaves_no_cycles_to_the_garbage_collector(
    twin: Twin, edit: bool, stops: bool
) -> None:
    """A full collection of the cycles of hundreds of replies would hold the event loop."""
    script = [(0.0, "One. "), (0.05, "Two.\n\n"), (0.05, "Three.")]
    source = lambda _: ScriptedProvider(script, hangs=stops)  # noqa: E731
    async with rigged(twin, streaming(source, edit=edit)) as rig:
        place = twin.channel("general").id
        for _ in range(2):  # the first fills caches
            before = len(rig.said())
            with kept_garbage() as garbage:
                await twin.say("go", user="ann")
                if stops:
                    await rig.until(lambda before=before: len(rig.said()) > before)
                    await rig.client.request_stop(channel_id=place)
                await rig.until(lambda: bool(rig.results))
                rig.results.clear()
                await anyio.sleep(0.1)
    ours = {type(value).__qualname__ for value in garbage if "minamo." in type(value).__module__
            and ".twin." not in type(value).__module__}  # fmt: skip
    assert not ours
