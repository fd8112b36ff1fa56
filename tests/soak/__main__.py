"""Load and soak on real sockets: `make soak MINUTES=10 STREAMS=200 SEED=…`.

This process is Discord (the twin) and its users; the provider and two shards of a bot are
processes of their own, and so is Redis, which is killed and started again.  As many replies as
wanted are in flight all the time.  At the end the judge reads the channels.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from minamo.twin import CREATE, EDIT, TYPING, Channel, Twin
from minamo.twin.discord import add_channel
from minamo.twin.faults import FaultKind
from minamo.twin.permissions import BOT, MEMBER
from minamo.twin.world import Guild, Member, Role
from soak.judge import Shown, judge, read_channels
from soak.pipes import ROOT, Child, Line
from soak.plans import Outage, Reply, make_plan
from soak.report import Run, Sample, publish, write
from soak.steps import Step
from support.redis_server import RedisServer

SHARDS = 2
RAMP_S = 5.0
#: No reply of the plans takes as long.
REPLY_S = 300.0
REDIS_EVERY_S = 60.0
PROGRESS_S = 10.0


def add_guilds(twin: Twin) -> list[Guild]:
    """Add servers until each shard has one; return one for each."""
    world, found = twin.world, {(twin.guild.id >> 22) % SHARDS: twin.guild}
    while len(found) < SHARDS:
        guild = Guild(world.new_id(), "Another", twin.guild.owner_id)
        if (guild.id >> 22) % SHARDS in found:
            time.sleep(0.001)  # the next id is of another millisecond
            continue
        role = Role(world.new_id(), "bot", BOT, position=1)
        guild.roles = {guild.id: Role(guild.id, "@everyone", MEMBER), role.id: role}
        for member in twin.guild.members.values():
            is_bot = member.user is twin.bot
            guild.members[member.user.id] = Member(member.user, world.now(), [role.id] * is_bot)
        world.guilds[guild.id] = guild
        found[(guild.id >> 22) % SHARDS] = guild
    return [found[shard] for shard in range(SHARDS)]


def plan_faults(twin: Twin) -> None:
    """Slow answers, 429, 500, and answers that are lost, before and after the call took effect."""
    twin.faults.latency_s = 0.02
    for route in (CREATE, EDIT, TYPING):
        twin.faults.delay(0.4, on=route, times=None, chance=0.04)
        twin.faults.limited(0.5, on=route, times=None, chance=0.02)
        twin.faults.status(500, on=route, times=None, chance=0.01)
        twin.faults.status(502, on=route, times=None, chance=0.01)
        twin.faults.drop(on=route, times=None, chance=0.01, after_effect=True)
        twin.faults.drop(on=route, times=None, chance=0.01)


class Soak:
    """One run: the users, what they ask, and what they are told."""

    def __init__(self, twin: Twin, redis: RedisServer, run: Run) -> None:
        self.twin = twin
        self.redis = redis
        self.run = run
        self.shards: list[Child] = []
        self.ends_at = 0.0
        self.numbers = itertools.count(1)
        self.replies = run.replies
        self._ended: dict[int, asyncio.Event] = {}
        self._acted: dict[int, asyncio.Event] = {}

    # What the processes say.

    def hear(self, shard: int, line: Line) -> None:
        """Take a line of a shard."""
        if "sample" in line:
            if self.run.began_at:  # else the other processes are being started
                at = line["at"] - self.run.began_at
                self.run.samples.append(
                    Sample(
                        shard,
                        at,
                        line["sample"],
                        line["late_ms"],
                        line["own_ms"],
                        Step(*line["step"]),
                    )
                )
        elif "began" in line:
            self.replies[line["began"]].began_at = line["at"]
        elif "acted" in line:
            self.replies[line["acted"]].act_outcome = line["outcome"]
            self._acted[line["acted"]].set()
        elif "ended" in line:
            reply = self.replies[line.pop("ended")]
            reply.ended_at = line.pop("at")
            for name, value in line.items():
                setattr(reply, name, value)
            self._ended[reply.plan.number].set()
        elif "closed" in line:
            self.run.errors += [f"shard {shard}: {error}" for error in line["errors"]]
            self.run.tasks_left += line["tasks_left"]
            self.run.cpu_s[f"shard {shard}"] = line["cpu_s"]

    # What the users do.

    async def live(self, place: Channel, shard: int) -> None:
        """Ask in one channel, question after question, until the time is over."""
        earlier: Reply | None = None
        while time.monotonic() < self.ends_at:
            reply = await self._ask(place, shard)
            if earlier is not None:  # it is interrupted by this question
                await self._end_of(earlier)
            earlier = reply if await self._act(reply) else None
            if earlier is None:
                await self._end_of(reply)
        if earlier is not None:
            await self._end_of(earlier)

    async def _ask(self, place: Channel, shard: int) -> Reply:
        number = next(self.numbers)
        plan = make_plan(self.run.seed, number)
        self.replies[number] = reply = Reply(plan, shard, place.id, time.monotonic())
        self._ended[number], self._acted[number] = asyncio.Event(), asyncio.Event()
        await self.twin.say(f"tell me {number}", channel=place, user="owner")
        return reply

    async def _act(self, reply: Reply) -> bool:
        """Do to a reply what its plan says; return whether a newer question shall interrupt it."""
        plan = reply.plan
        if plan.act == "nothing":
            return False
        try:
            async with asyncio.timeout(plan.act_after_s):
                await self._ended[plan.number].wait()
        except TimeoutError:
            if plan.act == "next":
                return True
            # The process that does not have the stream, which knows nothing but the channel.
            other = self.shards[(reply.shard + 1) % SHARDS]
            reply.act_at = time.monotonic()
            other.tell(act=plan.act, number=plan.number, channel=reply.channel)
            # A request that is still under way could meet the next reply of this channel.
            await asyncio.wait_for(self._acted[plan.number].wait(), 10)
        return False

    async def _end_of(self, reply: Reply) -> None:
        try:
            async with asyncio.timeout(REPLY_S):
                await self._ended[reply.plan.number].wait()
        except TimeoutError:
            reply.failed = f"no result within {REPLY_S:.0f} s"

    # What happens around them.

    async def restart_redis(self, every_s: float) -> None:
        """Kill Redis and start it again, until the time is over."""
        dice = random.Random(self.run.seed)
        while time.monotonic() + every_s < self.ends_at:
            await asyncio.sleep(every_s)
            self.redis.kill()
            outage = Outage(time.monotonic())
            self.run.outages.append(outage)
            await asyncio.sleep(dice.uniform(0.5, 3.0))
            await asyncio.to_thread(self.redis.start)
            outage.end = time.monotonic()

    async def report_progress(self) -> None:
        """Print a line every 10 s."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            print(self.run.progress(time.monotonic()), flush=True)


async def soak(run: Run, folder: Path) -> None:
    """Run everything; what was seen is in *run*."""
    redis = RedisServer(folder)
    provider_said: Line = {}
    children: list[Child] = []
    try:
        async with Twin() as twin:
            twin.faults.seed = run.seed
            twin.faults._random.seed(run.seed)
            guilds = add_guilds(twin)
            count = range(run.streams)
            places = [
                (add_channel(twin.world, guilds[n % SHARDS], f"room-{n}"), n % SHARDS)
                for n in count
            ]
            provider = await Child.start("provider", folder, provider_said.update, run.seed)
            children.append(provider)
            whole = Soak(twin, redis, run)
            settings = {
                "seed": run.seed,
                "token": twin.token,
                "discord": twin.url,
                "redis": redis.url,
                "provider": f"http://127.0.0.1:{provider_said['port']}/v1",
            }
            await _start_shards(whole, folder, settings, children)
            plan_faults(twin)
            await _live(whole, places)
            for child in reversed(children):
                if (code := await child.end()) != 0:
                    run.errors.append(f"{child.name} ended with {code}")
            run.open_requests = provider_said.get("open", -1)
            run.cpu_s["provider"] = provider_said.get("cpu_s", 0.0)
            run.cpu_s["Discord"] = time.process_time()
            _judge(run, twin)
    finally:
        for child in children:
            child.kill()
        redis.kill()


async def _start_shards(
    whole: Soak, folder: Path, settings: dict[str, Any], children: list[Child]
) -> None:
    for shard in range(SHARDS):
        child = await Child.start(
            "shard", folder, lambda line, shard=shard: whole.hear(shard, line), shard,
            json.dumps(settings),
        )  # fmt: skip
        children.append(child)
        whole.shards.append(child)


async def _live(whole: Soak, places: list[tuple[Channel, int]]) -> None:
    """Let all channels live at once, with restarts of Redis, until the time is over."""
    run = whole.run
    run.load = os.getloadavg()[0]
    run.began_at = time.monotonic()
    whole.ends_at = run.began_at + run.seconds
    ramp = min(RAMP_S, run.seconds / 4)

    async def live(number: int, place: Channel, shard: int) -> None:
        await asyncio.sleep(ramp * number / len(places))
        await whole.live(place, shard)

    around = [
        asyncio.create_task(whole.restart_redis(min(REDIS_EVERY_S, run.seconds / 3))),
        asyncio.create_task(whole.report_progress()),
    ]
    try:
        await asyncio.gather(*(live(n, *place) for n, place in enumerate(places)))
    finally:
        for task in around:
            task.cancel()
    await asyncio.sleep(1)  # what comes too late is seen, too
    run.took_s = time.monotonic() - run.began_at


_FAULTS = {
    FaultKind.DELAY: "slow answer",
    FaultKind.LIMITED: "429",
    FaultKind.DROP: "lost answer",
}


def _judge(run: Run, twin: Twin) -> None:
    messages = sorted(
        (message for found in twin.world.messages.values() for message in found.values()),
        key=lambda message: message.id,
    )
    shown = [Shown(m.channel_id, m.content) for m in messages if m.author.is_bot]
    run.messages = len(shown)
    made = twin.journal.requests_made
    run.calls = len(made)
    run.limited = sum(entry.status == 429 and entry.fault is None for entry in made)
    for fault in twin.faults.planned:
        name = str(fault.status) if fault.kind is FaultKind.STATUS else _FAULTS[fault.kind]
        run.faults[name] += fault.happened
    run.problems = read_channels(run.replies, shown)
    for reply in run.replies.values():
        run.problems += judge(reply)


def main() -> int:
    """Run, write the reports, and say whether everything held."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "soak")
    parser.add_argument("--publish", action="store_true", help="put the result on docs/promises.md")
    options = parser.parse_args()
    folder: Path = options.out
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(options.seed, options.streams, options.minutes * 60)
    print(
        f"make soak MINUTES={options.minutes:g} STREAMS={run.streams} SEED={run.seed}", flush=True
    )
    asyncio.run(soak(run, folder))
    write(run, folder)
    if options.publish:
        publish(run)
    for problem in run.failures():
        print(f"FAILED, seed {run.seed}: {problem}", flush=True)
    return 1 if run.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
