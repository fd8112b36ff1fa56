"""The demo: a local Discord, a scripted model, the real bot between them, and console output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import hikari
from attrs import define, evolve, field, frozen

from minamo.bot.demo.provider import PIECES, DemoProvider
from minamo.bot.factory import make_bot, make_client
from minamo.bot.listener import Answering, OnResult
from minamo.bot.settings import BotSettings, LimitSettings, Settings
from minamo.bot.tools import toolbox
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from minamo.errors import BadRequest
from minamo.inspect.hub import Hub, Page
from minamo.inspect.recorder import Recorder
from minamo.inspect.server import Prompt
from minamo.machine.machine import Observer
from minamo.shell.turns.turn import ChatProvider
from minamo.shell.turns.turn_result import TurnResult
from minamo.twin import Refused, Twin, User

Json = dict[str, Any]
Tell = Callable[[Json], object]


@define(eq=False)
class ConsoleView:
    """A subscriber of the hub that reports new messages, typing and states of one channel."""

    hub: Hub = field(repr=False)
    bot_id: str
    tell: Tell = field(repr=False)
    _page: Page | None = field(default=None, init=False, repr=False)
    _shown: dict[str, Any] = field(factory=dict, init=False, repr=False)
    _state: str = field(default="", init=False)

    def begin(self) -> None:
        """Subscribe to the hub; earlier events are not reported."""
        self._page = self.hub.join(self.look)
        if self._page is not None:
            self._page.take()

    def end(self) -> None:
        """Unsubscribe from the hub."""
        if self._page is not None:
            self.hub.leave(self._page)

    def look(self) -> None:
        """Report the pending events."""
        for event in self._page.take() if self._page is not None else ():
            self._heard(event)

    def _heard(self, event: Mapping[str, Any]) -> None:
        kind = event.get("kind")
        if kind == "message":
            self._message(event)
        elif kind == "typing" and event["author"]["app"]:
            self.tell({"typing": True})
        elif kind == "opened":
            self._enter(str(event["state"]))
        elif kind == "moves":
            for _, _, target, _ in event["moves"]:
                self._enter(str(target))

    def _enter(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self.tell({"state": state})

    def _message(self, event: Mapping[str, Any]) -> None:
        shown = (event["text"], event["embeds"])
        # Removing a Stop button edits a message without changing its content.
        if self._shown.get(event["id"]) == shown:
            return
        known = event["id"] in self._shown
        self._shown[event["id"]] = shown
        author = "bot" if event["author"]["app"] else "you"
        text = str(event["text"]).replace(f"<@{self.bot_id}>", "@minamo")
        fields = {"from": author, "text": text, "embeds": event["embeds"]}
        self.tell({"edit" if known else "message": fields})


def summary(turn: TurnResult) -> Json:
    """Return the outcome of a turn as JSON."""
    whole = turn.as_stream_result()
    return {
        "status": turn.status,
        "stop_reason": turn.stop_reason,
        "turn": list(turn.states),
        "streams": [list(result.states) for result in turn.results],
        "text": turn.accumulated_text,
        "thoughts": list(whole.thought_log),
        "details": whole.details_content,
        "tools": [done.call.name for done in turn.tool_history],
        "suppressed": dict(whole.suppressed),
        "additions": dict(whole.additions),
    }


# Short, so that a timeout can be seen without waiting two minutes.
_SILENCE_MS = 10_000
_CHANNEL = "general"


def demo_settings() -> Settings:
    """Return the demo's settings: the defaults, but without rate limits or queueing."""
    return Settings(
        bot=BotSettings(while_busy="interrupt", stop_button=True),
        limits=LimitSettings(replies_per_minute=0, at_once=0),
        stream=StreamConfig(inactivity_timeout_ms=_SILENCE_MS),
    )


@frozen
class _Deaf:
    """A feed that discards everything."""

    def gateway(self, name: str, data: Mapping[str, Any]) -> None:
        """Do nothing."""


@frozen
class _Streams:
    """The hub as seen by the client, without the feed: the local Discord fills that itself.

    The local Discord also reports events the bot cannot see, such as its own typing, and reports
    each event once.
    """

    _hub: Hub
    feed: _Deaf = field(factory=_Deaf)

    @property
    def watched(self) -> bool:
        return self._hub.watched

    def open_stream(self, channel_id: int, stream: Stream) -> Recorder | None:
        return self._hub.open_stream(channel_id, stream)

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        return self._hub.observer(chart, channel_id)


@define(eq=False)
class Demo:
    """A running demo; implements the actions of the live page."""

    twin: Twin
    answering: Answering
    person: User = field(repr=False)

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The suggested messages, one for each button."""
        return [Prompt(piece.title, piece.prompt) for piece in PIECES]

    async def say(self, text: str) -> None:
        """Send a message to the bot as the demo user."""
        message = f"<@{self.twin.bot.id}> {text}"
        try:
            await self.twin.say(message, channel=_CHANNEL, user=self.person)
        except Refused as error:
            raise BadRequest(f"Discord takes no such message ({error})") from None

    async def stop(self) -> None:
        """Use the stop command as the demo user."""
        await self.twin.slash("stop", channel=_CHANNEL, user=self.person)

    async def press(self, message_id: str, button_id: str) -> None:
        """Press a button as the demo user."""
        for message in self.twin.messages(_CHANNEL):
            if str(message.id) == message_id:
                with suppress(LookupError):  # the button was just removed
                    await self.twin.click(message, button_id, user=self.person)
                return


@asynccontextmanager
async def demo_world(
    *,
    hub: Hub | None = None,
    settings: Settings | None = None,
    provider: ChatProvider | None = None,
    on_result: OnResult = lambda _: None,
) -> AsyncIterator[Demo]:
    """Build the demo, start the bot, and shut everything down in reverse order."""
    settings = settings or demo_settings()
    async with AsyncExitStack() as stack:
        twin = Twin()
        twin.bot.name = "minamo"
        twin.guild.name = "Demo"
        person = twin.user("you")
        await stack.enter_async_context(twin)
        if hub is not None:
            hub.feed.names[str(twin.channel(_CHANNEL).id)] = _CHANNEL
            stack.callback(twin.watch(hub.feed.gateway))
        own = evolve(settings, discord=evolve(settings.discord, token=twin.token, url=twin.url))
        bot: hikari.GatewayBot = make_bot(own)
        client = make_client(bot, own, inspector=None if hub is None else _Streams(hub))
        tools = toolbox(own.bot.tools)
        answering = Answering(bot, client, own, [provider or DemoProvider()], tools, on_result)
        answering.listen()
        await bot.start(check_for_updates=False)
        stack.push_async_callback(bot.close)
        yield Demo(twin, answering, person)
