"""Many channels at once on real sockets, with faults and stops, judged by what the channels show.

The judge reads the twin and the results only.  Every word of a reply is unique, so a word that is
missing, doubled or out of order is seen at once, and a status that does not fit what stands in the
channel is a lie.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable

import pytest
from attrs import define, field

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, EDIT, Twin
from support.bot import rigged
from support.seeds import dice, seeds

pytestmark = pytest.mark.anyio

CHANNELS = 20
WORD = re.compile(r"s\d+w\d+")
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


async def speak(
    client: Client, twin: Twin, channel: int, dice: random.Random, reply: Reply
) -> None:
    config = StreamConfig(inactivity_timeout_ms=1500, send_message_limit=reply.limit)
    acting = asyncio.create_task(act(client, channel, dice, reply))
    reply.result = await client.stream(
        channel, script(dice, reply), config=config, edit=reply.edit, suppress_user_errors=True
    )
    acting.cancel()


def judge(reply: Reply) -> None:
    """Compare what stands in the channel with what the result says."""
    result = reply.result
    assert result is not None
    shown, words = reply.shown, reply.words
    assert max(Counter(shown).values(), default=0) <= 1, f"doubled: {reply}"
    assert shown == words[: len(shown)], f"lost in the middle, or reordered: {reply}"
    certain = all(receipt.outcome != "unknown" for receipt in result.receipts)
    if certain:
        assert WORD.findall(result.accumulated_text) == shown, f"booked wrongly: {reply}"
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
    async with Twin() as twin, rigged(twin, None) as rig:
        twin.faults.seed = seed
        make_faults(twin)

        async def live(number: int) -> None:
            with dice(seed * CHANNELS + number) as own:
                place = twin.channel(f"room-{number}")
                for count in range(rounds):
                    reply = make_reply(own, number * rounds + count)
                    replies.append(reply)
                    before = len(twin.messages(place.name))
                    await speak(rig.client, twin, place.id, own, reply)
                    for message in twin.messages(place.name)[before:]:
                        reply.shown += WORD.findall(message.content)

        await asyncio.gather(*[live(number) for number in range(CHANNELS)])
    return replies


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
