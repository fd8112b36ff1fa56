"""minamo in real time: replies into the local Discord, stops, stalls, and messages per second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import hikari
from rest import tokens

import minamo
from minamo.core.config import StreamConfig
from minamo.core.messages import Kind, OutgoingMessage
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import Accepted, SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.discord.bot import BotSender
from minamo.shell.driver import Driver
from minamo.shell.stops.registry import StopRequest, StopSignal

_CONNECTED: dict[str, tuple[hikari.GatewayBot, minamo.Client]] = {}


async def connect(place: dict[str, Any]) -> None:
    """Start the bot, before the model says anything."""
    bot = hikari.GatewayBot(
        place["token"], rest_url=place["url"], banner=None, logs=None,
        intents=hikari.Intents.GUILDS,
    )  # fmt: skip
    client = minamo.Client(bot)
    await bot.start()
    _CONNECTED[place["channel"]] = bot, client


async def live(
    place: dict[str, Any], text: str, rate: float, begin: float, options: dict[str, Any]
) -> str:
    """Stream a reply into a channel with the real client; return its status."""
    bot, client = _CONNECTED.pop(place["channel"])
    try:
        result = await client.stream(int(place["channel"]), tokens(text, rate, begin), **options)
        return result.status
    finally:
        await bot.close()


class Discord:
    """A channel whose calls take as long as a test says, in memory."""

    has_nonce = True

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.place = 1
        self.begun: list[tuple[float, str]] = []

    def route(self, kind: Kind) -> str:
        """Return the rate limit of a call."""
        return kind

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Create a message."""
        self.begun.append((time.perf_counter(), post.text))
        await anyio.sleep(self.latency_s)
        return Accepted(len(self.begun))

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Refuse: no reply here is edited."""
        raise NotImplementedError

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Refuse: no message here is deleted."""
        raise NotImplementedError

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show nothing."""
        del channel_id
        return Accepted(None)


#: What a provider says before it goes silent, and how slow Discord is then.
STATES: dict[str, tuple[list[str], float]] = {
    "opening": ([], 0.0),
    "streaming": (["Half a sentence, and "], 0.0),
    "in_think": (["<think>half a thought, and "], 0.0),
    "in_details": (["<details>half a detail, and "], 0.0),
    "in_code": (["```py\nhalf = 'a line'\nand "], 0.0),
    "call in flight": (["A paragraph.\n\n", "Another one, and "], 0.4),
    "channel is full": ([f"Paragraph {number}.\n\n" for number in range(900)], 0.4),
}
_REQUESTS = {
    "user": StopRequest(kind="user", requester="1"),
    "follow_up": StopRequest(kind="follow_up", requester="1"),
    "kill": StopRequest(kind="kill"),
}


async def _ended(
    said: list[str], latency_s: float, request: StopRequest | None, config: StreamConfig
) -> dict[str, Any]:
    """End one stream whose provider goes silent: by *request*, or by its clock."""
    stream, signal, discord = Stream(config), StopSignal(), Discord(latency_s)
    decided: list[float] = []
    last = time.perf_counter()

    async def source() -> AsyncIterator[str]:
        nonlocal last
        for text in said:
            last = time.perf_counter()
            yield text
        await anyio.sleep_forever()

    def watch(_: float, event: str, payload: object) -> None:
        del payload
        if event == "decided":
            decided.append(time.perf_counter())

    driver = Driver(stream, stop_signal=signal, watch=[watch])
    asked = 0.0

    async def ask(wish: StopRequest) -> None:
        nonlocal asked
        await anyio.sleep(0.03)
        asked = time.perf_counter()
        signal.request(wish)

    async with open_lanes() as lanes, anyio.create_task_group() as tasks:
        if request is not None:
            tasks.start_soon(ask, request)
        async with lanes.open(
            1, discord, stream.actions.outbox, stream_id="s",
            on_receipt=driver.on_receipt, on_limit=driver.limit_reached,
        ) as queue:  # fmt: skip
            await driver.run(source(), queue)
            settled = time.perf_counter()
    result = stream.result()
    keeps = request is None or request.kind == "user"
    begun_late = sum(at > decided[0] for at, _ in discord.begun) if not keeps else 0
    counted = sum(result.suppressed.values()) + sum(len(text) for _, text in discord.begun)
    return {
        "took_s": decided[0] - (asked or last),
        "settled_s": settled - (asked or last),
        "status": result.status,
        "sent_late": begun_late,
        "kept": counted,
    }


async def stops(state: str, kind: str, trials: int) -> dict[str, Any]:
    """End streams in one state; return how long each took to be decided."""
    said, latency_s = STATES[state]
    config = StreamConfig(drain_timeout_ms=50)
    runs = [await _ended(said, latency_s, _REQUESTS[kind], config) for _ in range(trials)]
    return {
        "took_s": [run["took_s"] for run in runs],
        "settled_s": [run["settled_s"] for run in runs],
        "statuses": sorted({run["status"] for run in runs}),
        "sent_late": sum(run["sent_late"] for run in runs),
    }


async def stalls(timeout_ms: int, trials: int) -> dict[str, Any]:
    """Let providers go silent; return how long each reply waited, and what it kept."""
    config = StreamConfig(inactivity_timeout_ms=timeout_ms)
    runs = [await _ended(["Half a sentence"], 0.0, None, config) for _ in range(trials)]
    return {
        "took_s": [run["took_s"] for run in runs],
        "kept": min(run["kept"] for run in runs) == len("Half a sentence"),
    }


# Messages per second.


async def _bare(rest: hikari.api.RESTClient, channel: int, count: int) -> float:
    begin = time.perf_counter()
    for number in range(count):
        await rest.create_message(channel, f"message {number}")
    return time.perf_counter() - begin


async def _lane(lanes: Lanes, sender: BotSender, stream_id: str, count: int) -> float:
    source = TextQueue([f"message {number}" for number in range(count)])
    begin = time.perf_counter()
    async with lanes.open(sender.place, sender, source, stream_id=stream_id) as queue:
        queue.deliver()
        receipts = await queue.finish()
    assert sum(receipt.delivered for receipt in receipts) == count
    return time.perf_counter() - begin


async def messages(place: dict[str, Any], count: int, rounds: int) -> dict[str, list[float]]:
    """Send messages by bare hikari and through a lane in turn; return seconds of each round."""
    at_once = RateLimit(1_000_000, 1e-6)
    pacer = Pacer(dict.fromkeys(PACES, (at_once,)), at_once)
    app = hikari.RESTApp(
        url=place["url"], http_settings=hikari.impl.HTTPSettings(force_close_transports=False)
    )
    await app.start()
    found: dict[str, list[float]] = {"hikari": [], "minamo": []}
    channel = int(place["channel"])
    async with (
        app.acquire(place["token"], hikari.TokenType.BOT) as rest,
        open_lanes(pacer=pacer) as lanes,
    ):
        sender = BotSender(rest, channel)
        await rest.create_message(channel, "warm")
        for number in range(rounds):
            found["hikari"].append(await _bare(rest, channel, count))
            found["minamo"].append(await _lane(lanes, sender, f"round {number}", count))
    await app.close()
    await asyncio.sleep(0)
    return found
