"""No text that a chat user provokes holds the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from minamo.twin import Twin
from support.bot import rigged, streaming
from support.slow_texts import LIMIT_S, REFERENCE_S, reference

pytestmark = pytest.mark.anyio


@contextmanager
def watched_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], float]]:
    """Measure every callback of the event loop; gives the processor time of the longest.

    Only the time of this thread counts, and a computer that is slow now is taken for as slow.
    """
    run = asyncio.Handle._run
    worst = 0.0

    def measured(handle: asyncio.Handle) -> None:
        nonlocal worst
        begin = time.thread_time()
        run(handle)
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
