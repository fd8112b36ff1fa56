"""Many channels at once on real sockets, with faults and stops, judged by what the channels show.

The judge reads the twin and the results only.  Every word of a reply is unique, so a word that is
missing, doubled or out of order is seen at once, and a status that does not fit what stands in the
channel is a lie.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import define, field

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, EDIT, Message, Twin
from soak.judge import Shown, read_channels
from soak.judge import judge as judge_reply
from soak.pipes import ROOT
from soak.plans import ACTS as SOAK_ACTS
from soak.plans import FAULTS, Plan, make_plan
from soak.plans import Reply as SoakReply
from support.bot import rigged
from support.seeds import dice, seeds

pytestmark = pytest.mark.anyio

CHANNELS = 20
WORD = re.compile(r"s(\d+)w\d+")
ENDS = {"end": 6, "error": 1, "hang": 1, "call": 2}
ACTS = ("nothing", "stop", "kill", "follow_up", "stop stop", "stop follow_up", "stop kill")


@define
class Reply:
    """One reply: what was to be said, what was done to it, and what came of it."""

    number: int
    words: list[str]
    end: str
    act: str
    edit: bool
    limit: int
    result: StreamResult | None = field(default=None)
    shown: list[str] = field(factory=list)

    def __str__(self) -> str:
        return (
            f"reply {self.number}: ends by {self.end}, then {self.act}, "
            f"{'edited in place' if self.edit else 'segments'}, limit {self.limit}; {self.result}; "
            f"{len(self.shown)} of {len(self.words)} words shown"
        )


def make_reply(dice: random.Random, number: int) -> Reply:
    words = [f"s{number}w{n}" for n in range(dice.choice([1, 8, 80, 400]))]
    (end,) = dice.choices(list(ENDS), list(ENDS.values()))
    limit = dice.choice([0, 0, 0, 2])
    return Reply(number, words, end, dice.choice(ACTS), dice.random() < 0.25, limit)


def script(dice: random.Random, reply: Reply) -> ScriptedProvider:
    """The reply in paragraphs, some of it at once and some slowly."""
    lines: list[object] = []
    pause = dice.choice([0.0, 0.0, 0.002, 0.05])
    for start in range(0, len(reply.words), 10):
        text = " ".join(reply.words[start : start + 10])
        gap = dice.choice(["\n\n", "\n\n", " "]) if start + 10 < len(reply.words) else ""
        lines.append((pause, text + gap))
    if reply.end == "call":
        lines.append(FunctionCall((Call("roll"),)))
    elif reply.end == "error":
        lines.append(ErrorChunk("api_error", "broken"))
    return ScriptedProvider(lines, hangs=reply.end == "hang")


async def act(client: Client, channel: int, dice: random.Random, reply: Reply) -> None:
    """Do to a reply what its script says, at a moment of the dice's choosing."""
    ways: dict[str, Callable[[], object]] = {
        "stop": lambda: client.request_stop(channel_id=channel, requester="7"),
        "follow_up": lambda: client.request_follow_up(channel_id=channel),
        "kill": lambda: client.kill(channel_id=channel),
    }
    wait = dice.uniform(0, 3)
    for what in reply.act.split():
        await asyncio.sleep(wait)
        if what in ways:
            await ways[what]()  # type: ignore[misc]
        wait = dice.uniform(0, 0.5)


async def speak(client: Client, channel: int, dice: random.Random, reply: Reply) -> None:
    config = StreamConfig(
        inactivity_timeout_ms=1500,
        send_message_limit=reply.limit,
        drain_timeout_ms=dice.choice([50, 500, 5_000]),
    )
    acting = asyncio.create_task(act(client, channel, dice, reply))
    reply.result = await client.stream(
        channel, script(dice, reply), config=config, edit=reply.edit, suppress_user_errors=True
    )
    acting.cancel()


def words_in(text: str) -> list[str]:
    return [word[0] for word in WORD.finditer(text)]


def judge(reply: Reply) -> None:
    """Compare what stands in the channel with what the result says."""
    result = reply.result
    assert result is not None
    shown, words = reply.shown, reply.words
    assert max(Counter(shown).values(), default=0) <= 1, f"doubled: {reply}"
    assert shown == words[: len(shown)], f"lost in the middle, or reordered: {reply}"
    certain = all(receipt.outcome != "unknown" for receipt in result.receipts)
    if certain:
        assert words_in(result.accumulated_text) == shown, f"booked wrongly: {reply}"
    missing = len(words) - len(shown)
    assert result.status != "empty_response", str(reply)
    if result.status in ("completed", "function_call"):
        assert not missing, f"the status says that everything was delivered: {reply}"
    if missing:
        why = {"killed", "follow_up", "send_message_limit", "user_request", "delivery_lost"}
        assert result.stop_reason in why or result.status in ("error", "timeout"), str(reply)
    first = reply.act.split()[0]
    if result.stop_reason == "user_request":
        assert "stop" in first, str(reply)
    if first == "nothing" and not reply.limit and reply.end in ("end", "call"):
        expected = {"end": "completed", "call": "function_call"}[reply.end]
        assert result.status in (expected, "error"), str(reply)


def make_faults(twin: Twin) -> None:
    twin.faults.latency_s = 0.02
    for route in (CREATE, EDIT):
        twin.faults.delay(0.4, on=route, times=None, chance=0.05)
        twin.faults.limited(0.3, on=route, times=None, chance=0.03)
        twin.faults.status(502, on=route, times=None, chance=0.02)
        twin.faults.drop(on=route, times=None, chance=0.02, after_effect=True)
        twin.faults.drop(on=route, times=None, chance=0.02)


async def soak(seed: int, rounds: int) -> list[Reply]:
    """Have every channel say *rounds* replies, one after the other."""
    replies: list[Reply] = []
    async with Twin() as twin:
        twin.faults.seed = seed
        make_faults(twin)

        async def live(client: Client, number: int) -> None:
            with dice(seed * CHANNELS + number) as own:
                place = twin.channel(f"room-{number}")
                for count in range(rounds):
                    reply = make_reply(own, number * rounds + count)
                    replies.append(reply)
                    await speak(client, place.id, own, reply)

        async with rigged(twin, None) as rig:
            await asyncio.gather(*[live(rig.client, number) for number in range(CHANNELS)])
        # Not before: a call that was out when a reply gave up waiting may have shown its message.
        by_number = {reply.number: reply for reply in replies}
        for number in range(CHANNELS):
            read(twin.messages(f"room-{number}"), by_number)
    return replies


def read(messages: Iterable[Message], replies: dict[int, Reply]) -> None:
    """Give every reply its words in a channel, in which no reply stands behind a newer one."""
    newest = -1
    for message in messages:
        for word in WORD.finditer(message.content):
            number = int(word[1])
            assert number >= newest, f"behind reply {newest}: {replies[number]}"
            replies[number].shown.append(word[0])
            newest = number


def check(replies: list[Reply], figure: Callable[[str], None]) -> None:
    for reply in replies:
        judge(reply)
    statuses = Counter(reply.result.status for reply in replies if reply.result is not None)
    figure(f"soak on real sockets: {len(replies)} streams in {CHANNELS} channels; {dict(statuses)}")


@pytest.mark.timeout(120)
async def test_p03_the_status_fits_what_the_channel_shows(figure: Callable[[str], None]) -> None:
    check(await soak(seeds(1)[0], 3), figure)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(2))
async def test_p03_the_status_fits_what_the_channel_shows_at_length(
    part: int, figure: Callable[[str], None]
) -> None:
    check(await soak(seeds(1, part + 1)[0], 20), figure)


# The soak of several processes, `make soak`: its judge, and a small run.


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_p03_two_shards_hold_in_a_small_soak(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    options = ("--minutes", "0.1", "--streams", "20", "--seed", str(seeds(1)[0]))
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT)))
    done = await anyio.run_process(
        [sys.executable, "-m", "soak", *options, "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    # Beside other tests, a process waits for its processor: what counts is its own work.
    failures = [failure for failure in report["failures"] if "lag p99" not in failure]
    assert (failures, done.returncode) == ([], 1 if report["failures"] else 0)
    assert max(report["own_p99_ms"]) <= 50
    assert len(report["redis_killed_at"]) >= 1
    assert "<svg" in (tmp_path / "soak.svg").read_text(encoding="utf-8")
    figure(f"soak of two shards: {report['rows']['replies']}")


def soak_reply(shown: range | list[int] = range(10), **changes: Any) -> tuple[SoakReply, list[str]]:
    """A reply of ten words without faults that completed, and the words in its channel."""
    words = tuple(f"s5w{n}" for n in range(10))
    plan = Plan(5, words, (), 0.1, changes.pop("fault", "none"), 0, changes.pop("act", "nothing"),
                1.0, edit=False, limit=0)  # fmt: skip
    said = [f"s5w{n}" for n in shown]
    times = {"began_at": 9.1, "ended_at": 20.0}
    settings: dict[str, Any] = {"status": "completed", "booked": said, **times, **changes}
    return SoakReply(plan, 0, 77, 9.0, **settings), said


def kinds_of(reply: SoakReply, said: list[str], channel: int = 77) -> set[str]:
    """What the judge says of a reply whose words stand in one message each."""
    found = read_channels({5: reply}, [Shown(channel, word) for word in said])
    return {problem.kind for problem in [*found, *judge_reply(reply)]}


@pytest.mark.parametrize(
    ("kind", "shown", "changes"),
    [
        ("lost", range(9), {}),
        ("lost", [0, 1, 3], {"status": "error", "fault": "reset"}),
        ("lost", range(4), {"status": "stopped_by_user", "act": "stop"}),
        ("lost", range(10), {"ended_at": None, "status": ""}),
        ("lost", range(10), {"failed": "ValueError()"}),
        ("lost", range(10), {"began_at": None}),
        ("lost", [], {"status": "empty_response"}),
        ("doubled", [*range(10), 9], {}),
        ("reordered", [1, 0, *range(2, 10)], {}),
        ("untrue", range(10), {"booked": []}),
        ("untrue", range(10), {"status": "error"}),
        ("untrue", range(10), {"status": "stopped_by_user", "stop_reason": "user_request"}),
        ("disobeyed", range(10), {"act": "stop", "act_at": 9.5, "act_outcome": "yes"}),
        ("disobeyed", range(10), {"act": "stop", "act_at": 12.0, "act_outcome": "no"}),
        (
            "disobeyed",
            range(3),
            {
                "status": "error",
                "fault": "reset",
                "act": "stop",
                "act_at": 9.5,
                "act_outcome": "yes",
            },
        ),
    ],
)
def test_p03_the_judge_of_a_soak_sees(
    kind: str, shown: range | list[int], changes: dict[str, Any]
) -> None:
    assert kind in kinds_of(*soak_reply(shown, **changes))


def test_p03_the_judge_of_a_soak_sees_words_of_another_reply() -> None:
    reply, said = soak_reply()
    assert "mixed" in kinds_of(reply, said, channel=78)
    newer, words = soak_reply()
    found = read_channels({5: newer, 6: newer}, [Shown(77, text) for text in ("s6w0", *words)])
    assert {problem.kind for problem in found} == {"mixed"}


@pytest.mark.parametrize(
    ("shown", "changes"),
    [
        (range(10), {}),
        (range(3), {"status": "error", "fault": "reset"}),
        ([], {"status": "empty_response", "fault": "empty"}),
        (range(4), {"status": "stopped_by_user", "stop_reason": "user_request", "act": "stop"}),
        (range(4), {"status": "error", "stop_reason": "delivery_lost"}),
        (range(10), {"act": "stop", "act_at": 12.0, "act_outcome": "unreachable"}),
    ],
)
def test_p03_the_judge_of_a_soak_lets_pass(
    shown: range | list[int], changes: dict[str, Any]
) -> None:
    assert kinds_of(*soak_reply(shown, **changes)) == set()


def test_the_plans_of_a_soak_have_every_fault_and_act_and_all_their_words() -> None:
    plans = [make_plan(1, number) for number in range(600)]
    assert {plan.fault for plan in plans} == set(FAULTS)
    assert {plan.act for plan in plans} == set(SOAK_ACTS)
    for plan in plans:
        assert tuple(re.findall(r"s\d+w\d+", "".join(plan.chunks))) == plan.words
    assert plans[7] == make_plan(1, 7) != make_plan(2, 7)
