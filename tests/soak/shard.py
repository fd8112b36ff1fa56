"""One shard of the bot of a soak, a process of its own: a real hikari bot and a `minamo.Client`.

It answers every question of its servers, requests stops of replies that the other process has, and
tells each second how much memory it uses and how late its event loop was.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
import time
from typing import Any

import hikari

import minamo
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from soak.pipes import Line, lines_of_stdin, tell
from soak.plans import SILENCE_MS, WORD, make_plan
from soak.steps import Steps

LAG_EVERY_S = 0.02
PAGE = os.sysconf("SC_PAGE_SIZE")


class Errors(logging.Handler):
    """What no part of a bot may log: errors, unhandled exceptions among them.

    hikari calls it an error, too, that Discord's global limit was met; these are counted there.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not text.startswith("rate limited on the global bucket"):
            self.seen.append(f"{record.name}: {text[:300]}")


class Shard:
    """The bot of one process."""

    def __init__(self, number: int, settings: Line) -> None:
        self.number = number
        self.seed: int = settings["seed"]
        self.llm = minamo.OpenAICompatible(settings["provider"], model="soak")
        self.bot = hikari.GatewayBot(
            settings["token"],
            rest_url=settings["discord"],
            intents=hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT,
            banner=None,
            logs=None,
            suppress_optimization_warning=True,
        )
        # Two processes share the 50 calls per second of one bot, and hikari repeats some by itself.
        pacer = Pacer(PACES, RateLimit(2, 1 / 20))
        stops = minamo.RedisStops(settings["redis"], prefix="soak")
        self.client = minamo.Client(self.bot, stops=stops, pacer=pacer)
        self.bot.subscribe(hikari.GuildMessageCreateEvent, self.answer)

    async def answer(self, event: hikari.GuildMessageCreateEvent) -> None:
        """Answer a question with the reply of its number."""
        if not event.is_human:
            return
        text = event.content or ""
        plan = make_plan(self.seed, int(text.split()[-1]))
        tell(began=plan.number, at=time.monotonic())
        config = minamo.StreamConfig(
            inactivity_timeout_ms=SILENCE_MS,
            first_token_timeout_ms=SILENCE_MS,
            send_message_limit=plan.limit,
        )
        source = minamo.retry(self.llm.ask(text), backoff_s=0.2)
        try:
            result = await self.client.stream(event, source, config=config, edit=plan.edit)
        except Exception as error:
            tell(ended=plan.number, at=time.monotonic(), failed=repr(error)[:500])
            raise
        tell(
            ended=plan.number,
            at=time.monotonic(),
            status=result.status,
            stop_reason=result.stop_reason,
            booked=[word.group() for word in WORD.finditer(result.accumulated_text)],
            unsent=[receipt.reason for receipt in result.receipts if receipt.lost],
            uncertain=any(receipt.outcome == "unknown" for receipt in result.receipts),
        )

    async def act(self, act: str, number: int, channel: int) -> None:
        """Request the end of a reply that the other process has."""
        requests: dict[str, Any] = {
            "stop": self.client.request_stop,
            "follow_up": self.client.request_follow_up,
            "kill": self.client.kill,
        }
        outcome = await requests[act](channel_id=channel, requester="7")
        tell(acted=number, outcome=outcome.value)


async def sample(steps: Steps) -> None:
    """Tell each second how late the event loop was, its longest step, and the memory."""
    loop = asyncio.get_running_loop()
    late_ms: list[float] = []
    own_ms: list[float] = []
    next_at = loop.time() + 1
    while True:
        due, worked = loop.time() + LAG_EVERY_S, time.thread_time()
        await asyncio.sleep(LAG_EVERY_S)
        late = loop.time() - due
        late_ms.append(round(late * 1000, 1))
        # The rest of a delay is that of a machine with more to do than it has processors.
        own_ms.append(round(min(late, time.thread_time() - worked) * 1000, 1))
        if loop.time() >= next_at:
            next_at = loop.time() + 1
            tell(sample=memory_mib(), late_ms=late_ms, own_ms=own_ms, step=steps.take(),
                 at=time.monotonic())  # fmt: skip
            late_ms, own_ms = [], []


def memory_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return round(int(file.read().split()[1]) * PAGE / 2**20, 2)


async def main(number: int, settings: Line) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    errors = Errors()
    logging.getLogger().addHandler(errors)
    shard = Shard(number, settings)
    await shard.bot.start(shard_ids=[number], shard_count=2, check_for_updates=False)
    gc.freeze()  # as `minamo run` does
    idle = len(asyncio.all_tasks())
    steps = Steps()
    steps.install()
    sampling = asyncio.create_task(sample(steps))
    acting: set[asyncio.Task[None]] = set()
    tell(ready=True)
    async for line in lines_of_stdin():
        task = asyncio.create_task(shard.act(line["act"], line["number"], line["channel"]))
        acting.add(task)
        task.add_done_callback(acting.discard)
    sampling.cancel()
    await asyncio.sleep(1)
    left = len(asyncio.all_tasks()) - idle
    await shard.bot.close()
    tell(closed=True, tasks_left=left, errors=errors.seen, cpu_s=time.process_time())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), json.loads(sys.argv[2])))
