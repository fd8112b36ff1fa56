"""The page over everything real but the model: the local Discord, hikari, lanes, the driver.

`PYTHONPATH=tests python -m support.page` serves it and prints where.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import hikari
from attrs import define, evolve, field

from minamo.core.chunks import ErrorChunk, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from minamo.inspect.hub import Hub
from minamo.inspect.server import Prompt, Served, serve
from minamo.shell.delivery.interfaces import SendOptions
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.discord.bot import BotSender
from minamo.shell.driver import Driver
from minamo.shell.providers.scripted import Line, ScriptedProvider
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.twin import Rules, Twin
from support.lanes import unpaced

TOUR = """<think>They want to see what I can do: a thought, some code, a table. Nothing secret.</think>Here is the lake this morning, **as it was**:

| hour | ripples |
|---|---:|
| 6 | 12 |
| 7 | 840 |

I counted them like this, and `<think>` stays alone because it is code:

```py
def ripples(lake: list[int]) -> int:
    # a ring that has spread is one ripple
    return sum(1 for ring in lake if ring > 0)
```

> Still water says more.
- a list with *emphasis* and __underline__
- and ||a secret spot|| by the reeds

<details><summary>notes</summary>Ann likes lakes.</details>That is all for today."""

STORY = "\n\n".join(
    f"Part {n}. The water was still, and then it was not; a ring ran out from the reeds, and another, "
    "until the whole lake was counting to itself." for n in range(1, 40)
)  # fmt: skip

HOSTILE = (
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=1">'
    "<svg/onload=window.pwned=1>[click](javascript:window.pwned=1) "
    '<a href="javascript:window.pwned=1">x</a> {{constructor.constructor("window.pwned=1")()}}\n\n'
    + "\u202eright to left\u202c שלום עולם مرحبا بالعالم\n\n"
    + "🙂" * 5_000
    + "\n\n"
    + "*_~|`" * 2_000
    + "\n\n"
    + "a" * 80_000
)


def cut(text: str, size: int, pause: float) -> list[Line]:
    return [(pause, text[at : at + size]) for at in range(0, len(text), size)]


# How much faster the model speaks where nobody has to watch it.
HASTE = 6


def hurried(script: ScriptedProvider) -> ScriptedProvider:
    return evolve(script, lines=[(pause / HASTE, said) for pause, said in script.lines])


SCRIPTS: dict[str, ScriptedProvider] = {
    "Show me what you can do.": ScriptedProvider(cut(TOUR, 7, 0.03)),
    "Tell me a long story.": ScriptedProvider(cut(STORY, 12, 0.04)),
    "Say nothing.": ScriptedProvider([(0.5, "")]),
    "Break in the middle.": ScriptedProvider(
        [
            *cut("This was going so well, until ", 5, 0.05),
            (0.2, ErrorChunk("provider_overloaded", "busy")),
        ]
    ),
    "Fall silent.": ScriptedProvider(cut("I was about to say", 4, 0.05), hangs=True),
    "Think beside the text.": ScriptedProvider(
        [
            (0.1, TextChunk("", ("A thought that came beside the text.",))),
            *cut("Said after thinking.", 4, 0.05),
        ]
    ),
    "Be hostile.": ScriptedProvider(cut(HOSTILE, 4_000, 0.01)),
}


@define(eq=False)
class Rig:
    """Answers in one channel, and lets the page write there."""

    twin: Twin
    hub: Hub
    bot: hikari.GatewayBot
    lanes: Lanes
    config: StreamConfig
    tasks: anyio.abc.TaskGroup
    scripts: dict[str, ScriptedProvider] = field(factory=lambda: dict(SCRIPTS))
    stop_signal: StopSignal | None = None
    served: Served | None = None
    quick: bool = False
    _number: int = 0
    _turn: anyio.Lock = field(factory=anyio.Lock)

    @property
    def prompts(self) -> list[Prompt]:
        return [Prompt(text.rstrip("."), text) for text in self.scripts if "hostile" not in text]

    async def say(self, text: str) -> None:
        await self.twin.say(text)

    async def stop(self) -> None:
        if self.stop_signal is not None:
            self.stop_signal.request(StopRequest(kind="user", requester="ann"))

    async def press(self, message_id: str, button_id: str) -> None:
        message = self.twin.world.find_message(self.twin.channel().id, int(message_id))
        assert message is not None
        await self.twin.click(message, button_id)

    async def on_message(self, event: hikari.GuildMessageCreateEvent) -> None:
        if event.is_human:
            if self.stop_signal is not None:
                self.stop_signal.request(StopRequest(kind="follow_up"))
            self.tasks.start_soon(
                self.answer, event.content or "", int(event.channel_id), int(event.message_id)
            )

    async def answer(self, text: str, channel_id: int, message_id: int) -> None:
        async with self._turn:
            self._number += 1
            stream, stop_signal = Stream(self.config), StopSignal()
            self.stop_signal = stop_signal
            recorder = self.hub.open_stream(channel_id, stream)
            driver = Driver(
                stream,
                stop_signal=stop_signal,
                watch=[] if recorder is None else [recorder.happened],
            )
            source = self.scripts.get(text) or ScriptedProvider(cut(f"You said: {text}", 3, 0.03))
            if self.quick:
                source = hurried(source)
            async with self.lanes.open(
                channel_id,
                BotSender(self.bot.rest, channel_id),
                stream.actions.outbox,
                stream_id=f"rig {self._number} {message_id}",
                options=SendOptions(reply_to=message_id),
                typing=True,
                on_receipt=driver.on_receipt,
                on_limit=driver.limit_reached,
            ) as dispatch:
                await driver.run(source, dispatch)
            self.stop_signal = None


@asynccontextmanager
async def rig(
    *, port: int = 0, read_only: bool = False, quick: bool = False, **settings: object
) -> AsyncIterator[Rig]:
    """*quick*: a model in haste, a Discord without limits, and no pace either."""
    config = StreamConfig(
        **{"inactivity_timeout_ms": 4_000, "first_token_timeout_ms": 8_000, **settings}
    )  # type: ignore[arg-type]
    hub = Hub(recording=True)
    async with Twin(rules=Rules(rate_limits=not quick)) as twin:
        hub.feed.names[str(twin.channel().id)] = "general"
        twin.watch(hub.feed.gateway)
        bot = hikari.GatewayBot(
            twin.token,
            rest_url=twin.url,
            banner=None,
            logs=None,
            suppress_optimization_warning=True,
            intents=hikari.Intents.ALL,
        )
        await bot.start(check_for_updates=False)
        pacer = unpaced() if quick else None
        try:
            async with (
                open_lanes(watch=hub.observer("delivery"), pacer=pacer) as lanes,
                anyio.create_task_group() as tasks,
            ):
                made = Rig(twin, hub, bot, lanes, config, tasks, quick=quick)
                bot.event_manager.subscribe(hikari.GuildMessageCreateEvent, made.on_message)
                async with serve(hub, port=port, actions=None if read_only else made) as served:
                    made.served = served
                    yield made
                tasks.cancel_scope.cancel()
        finally:
            await bot.close()


async def main() -> None:
    async with rig(port=8765) as made:
        assert made.served is not None
        print(made.served.address, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    with __import__("contextlib").suppress(KeyboardInterrupt):
        asyncio.run(main())
