"""`minamo.Client`: the public entry point, one per bot.

It checks its settings, connects itself to the bot's lifecycle, and hands replies and stop requests
to the modules that do the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from types import MethodType
from typing import Any, Self, Unpack

import anyio
import hikari

from minamo.core.config import StreamConfig
from minamo.core.messages import Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadRequest, ClientClosed
from minamo.shell.delivery.lanes import DRAIN_S
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.discord.history import HistoryLimits, ReplyChain
from minamo.shell.discord.hooks import F, Hooks
from minamo.shell.discord.reply import ReplyContext
from minamo.shell.discord.runtime import RuntimeHost, bot_of, check_running, listeners
from minamo.shell.discord.stop_controls import StopControls
from minamo.shell.discord.targets import Places, ReplyTarget, read_target
from minamo.shell.driver import ChunkSource
from minamo.shell.notices.localization import FALLBACK, Languages
from minamo.shell.notices.notices import NoticeSettings
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.options import DEFAULT_OPTIONS, StreamOptions, options
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.shell.providers.base import AdapterUser
from minamo.shell.providers.scripted import check_source
from minamo.shell.replies import Replies
from minamo.shell.stops.registry import (
    AddressArguments,
    MemoryStops,
    RequestArguments,
    RequestOutcome,
    StopArguments,
    Stops,
)
from minamo.shell.telemetry.observer import StreamInspector, resolve_inspect
from minamo.shell.telemetry.telemetry import (
    StreamLog,
    Telemetry,
    TelemetryFanOut,
    redact_hikari_logs,
)
from minamo.shell.turns.channels import QUEUE_MAX, Channels, Lease, Policy
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn import Ask, ChatProvider
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.shell.validation import check_command, check_kinds, check_seconds
from minamo.wire.conversation import ChatMessage

_LOG = logging.getLogger("minamo.client")

# Types of those settings that no constructor checks itself.
_NONE = type(None)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "config": (StreamConfig, _NONE),
    "thoughts": (ThoughtDisplay, _NONE),
    "notices": (NoticeSettings, _NONE),
    "locale": (str,),
    "queue_max": (int,),
    "telemetry": (Sequence,),
    "pacer": (Pacer, _NONE),
}


class Client:
    """A client that streams replies into Discord for one bot; create it once, next to the bot.

    It opens itself when the bot starts and, when the bot stops, lets unfinished replies come to an
    orderly end.  A bare REST client has neither event, so use ``async with Client(rest)`` with one
    from `hikari.RESTApp.acquire`.
    """

    def __init__(
        self,
        bot: hikari.RESTAware | hikari.api.RESTClient,
        *,
        config: StreamConfig | None = None,
        policy: Policy = "interrupt",
        queue_max: int = QUEUE_MAX,
        stops: Stops | None = None,
        lease: Lease | None = None,
        thoughts: ThoughtDisplay | None = None,
        notices: NoticeSettings | None = None,
        locale: str = FALLBACK,
        wording: Mapping[str, Mapping[str, str]] | None = None,
        stop_command: str | None = None,
        rest_url: str | None = None,
        telemetry: Sequence[Telemetry] = (),
        inspect: bool | StreamInspector = False,
        pacer: Pacer | None = None,
        drain_s: float = DRAIN_S,
    ) -> None:
        bot = bot_of(bot)
        check_kinds(
            {
                "config": config,
                "thoughts": thoughts,
                "notices": notices,
                "locale": locale,
                "queue_max": queue_max,
                "telemetry": telemetry,
                "pacer": pacer,
            },
            _KINDS,
        )
        check_seconds("drain_s", drain_s)
        check_command(stop_command)
        redact_hikari_logs()  # hikari's own logs show webhook tokens
        self._bot = bot
        self._places = Places(bot)
        self.config: StreamConfig = config or StreamConfig.from_env()
        self.stops: Stops = stops or MemoryStops()
        self._telemetry = TelemetryFanOut(StreamLog(), *telemetry)
        self._inspect = resolve_inspect(inspect)
        self._inspector = self._inspect.inspector
        self._thoughts = thoughts or ThoughtDisplay()
        self._notices = notices or NoticeSettings()
        self._languages = Languages(wording or {})
        self._wording = self._languages.wording(locale)
        self._build(bot, policy, queue_max, lease=lease, rest_url=rest_url, pacer=pacer)
        self._drain_s = drain_s
        self._closed = False
        self._closing: asyncio.Task[list[Receipt]] | None = None
        self._orchestrator: StreamOrchestrator | None = None
        self._stop_controls = StopControls(bot, self.stops, self._languages.wording, stop_command)
        self._subscribe(bot)

    def _build(
        self,
        bot: hikari.RESTAware,
        policy: Policy,
        queue_max: int,
        *,
        lease: Lease | None,
        rest_url: str | None,
        pacer: Pacer | None,
    ) -> None:
        """Create the parts that every reply goes through."""
        watch = None if self._inspector is None else self._inspector.observer("channel")
        self._channels = Channels(policy, queue_max, lease=lease, watch=watch)
        self._host = RuntimeHost(
            bot,
            rest_url=rest_url,
            pacer=pacer,
            inspector=self._inspector,
            page=self._inspect.page,
            services=(self.stops, lease),
        )
        self._hooks = Hooks(bot)
        self._adapters = AdapterUser()
        self._replies = Replies(
            self._channels,
            self.stops,
            policy,
            lease is not None,
            self._inspector,
            self._telemetry,
            self._hooks,
        )

    def _subscribe(self, bot: hikari.RESTAware) -> None:
        """Follow the bot's start and end, and the use of the stop button and command."""
        if any(
            isinstance(listener, MethodType) and isinstance(listener.__self__, Client)
            for listener in listeners(bot)
        ):
            _LOG.warning("this bot has a minamo.Client already; two of them mix their replies")
        if isinstance(bot, hikari.GatewayBotAware):
            bot.event_manager.subscribe(hikari.StartedEvent, self._on_started)
            bot.event_manager.subscribe(hikari.StoppingEvent, self._on_stopping)
            bot.event_manager.subscribe(hikari.InteractionCreateEvent, self._stop_controls.on_event)
        elif isinstance(bot, hikari.RESTBotAware):
            bot.add_startup_callback(self._on_started)
            bot.add_shutdown_callback(self._on_stopping)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._channels)} channels busy"
        return f"<minamo.Client: {state}>"

    # Replies.

    async def stream(
        self, target: ReplyTarget, source: ChunkSource, **options: Unpack[StreamOptions]
    ) -> StreamResult:
        """Stream one reply to *target* and return its result.

        *target* is a message event, a message, a channel or its id, an interaction, or a context
        of arc, crescent, tanjun or lightbulb.  *source* is any async iterable of text:
        ``llm.ask(…)``, ``llm.chat(…)``, any ``AsyncIterable[str]``, or the async stream of an SDK.
        """
        check_source(source)
        reply = await self._begin(target, options)
        with self._adapters.active():
            result = await self._replies.stream(reply, source)
        self._hooks.returned(reply.info, result)
        return result

    async def turn(
        self,
        target: ReplyTarget,
        llm: Ask | ChatProvider,
        messages: Sequence[ChatMessage],
        *,
        tools: Tools | None = None,
        fallbacks: Sequence[Ask | ChatProvider] = (),
        settings: TurnSettings | None = None,
        **options: Unpack[StreamOptions],
    ) -> TurnResult:
        """Answer *messages* with tools: stream, run the requested tools, stream again."""
        reply = await self._begin(target, options)
        with self._adapters.active():
            result = await self._replies.turn(
                reply, llm, messages, tools=tools, fallbacks=fallbacks, settings=settings
            )
        self._hooks.returned(reply.info, result)
        return result

    async def conversation(
        self,
        message: hikari.Message | hikari.MessageCreateEvent,
        memory: HistoryLimits | None = None,
    ) -> list[ChatMessage]:
        """Return the reply chain that ends with *message*, with names and pictures."""
        self._check_open()
        check_running(self._bot)
        if not isinstance(message, hikari.Message | hikari.MessageCreateEvent):
            raise BadRequest(
                f"a conversation ends with a message or its event, not a {type(message).__name__}"
            )
        last = message.message if isinstance(message, hikari.MessageCreateEvent) else message
        me = await self._me()
        chain = ReplyChain(self._bot.rest, me, memory or HistoryLimits())
        return await chain.read(await chain.walk(last))

    # Hooks.

    def on_result(self, callback: F) -> F:
        """Call *callback* with a `ReplyInfo` and the result of every reply; also a decorator.

        It runs just before `stream` or `turn` returns.  It is a plain function; an exception in it
        is logged and changes nothing.
        """
        return self._hooks.add_result(callback)

    def on_error(self, callback: F) -> F:
        """Call *callback* as `on_result` does, for results with the status error or timeout."""
        return self._hooks.add_error(callback)

    # Stops.

    async def request_stop(self, **stop: Unpack[StopArguments]) -> RequestOutcome:
        """Request a user's stop of a reply; text already received is still sent.

        With an `asker=`, replies that another user asked for are not stopped.
        """
        return await self.stops.request_stop(**stop)

    async def request_follow_up(self, **stop: Unpack[RequestArguments]) -> RequestOutcome:
        """Request that a reply end because a newer message makes it obsolete."""
        return await self.stops.request_follow_up(**stop)

    async def kill(self, **stop: Unpack[RequestArguments]) -> RequestOutcome:
        """End a reply at once and drop its unsent text; with `channel_id=`, also queued turns."""
        channel_id = stop.get("channel_id")
        killed = channel_id is not None and self._channels.kill(channel_id)
        reached = await self.stops.kill(**stop)
        return RequestOutcome.YES if killed else reached

    async def has_stop_request(self, **address: Unpack[AddressArguments]) -> RequestOutcome:
        """Return whether a running reply there has a stop request of any kind."""
        return await self.stops.has_stop_request(**address)

    async def clear_stop_request(self, **address: Unpack[AddressArguments]) -> RequestOutcome:
        """Withdraw a stop request not acted on yet, such as a stop while tools finish."""
        return await self.stops.clear_stop_request(**address)

    async def answer_stop(self, interaction: hikari.PartialInteraction) -> bool:
        """Answer *interaction* if it presses a Stop button or uses the stop command.

        Returns whether it did.  Gateway bots do not need to call it; it is for bots that receive
        interactions in their own listeners, as `hikari.RESTBot` does.
        """
        return await self._stop_controls.answer(interaction)

    # Lifecycle.

    @property
    def page(self) -> str | None:
        """The address of the live page, including its key; None unless it is served."""
        return self._inspect.address

    async def orchestrator(self) -> StreamOrchestrator:
        """Return the orchestrator, for callers that build their own `StreamContext`."""
        self._check_open()
        if self._orchestrator is None:
            runtime = await self._host.runtime()
            self._orchestrator = StreamOrchestrator(
                runtime.lanes,
                stops=self.stops,
                notices=self._notices,
                telemetry=self._telemetry,
                inspector=self._inspector,
            )
        return self._orchestrator

    async def close(self) -> list[Receipt]:
        """End running replies within `drain_s`; return the receipts of lost messages.

        Adapters that replied for this client, and for no other, are closed as well.
        Closing continues if this call is cancelled; another call waits for it and returns the
        same receipts.
        """
        if self._closing is None:
            self._closed = True
            self._closing = asyncio.get_running_loop().create_task(
                self._close(), name="minamo-close"
            )
        return list(await asyncio.shield(self._closing))

    async def _close(self) -> list[Receipt]:
        await self._channels.drain(self._drain_s)
        lost = await self._host.close(self._drain_s)
        await self._adapters.close()
        return lost

    async def __aenter__(self) -> Self:
        await self.orchestrator()
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    @classmethod
    def from_arc(cls, client: Any, **settings: Any) -> Self:
        """Return a client for an arc bot, registered for injection into commands."""
        return cls._injected(client.app, client, settings)

    @classmethod
    def from_tanjun(cls, client: Any, bot: hikari.RESTAware, **settings: Any) -> Self:
        """Return a client for a tanjun bot, registered for injection into commands."""
        return cls._injected(bot, client, settings)

    @classmethod
    def _injected(cls, bot: hikari.RESTAware, framework: Any, settings: Mapping[str, Any]) -> Self:
        made = cls(bot, **settings)
        framework.set_type_dependency(cls, made)
        return made

    # Internals.

    async def _begin(self, target: ReplyTarget, given: StreamOptions) -> ReplyContext:
        self._check_open()
        wanted = options(given) if given else DEFAULT_OPTIONS
        found = read_target(target, self._known_me())
        check_running(self._bot)
        found = await self._places.locate(found)
        orchestrator = await self.orchestrator()
        locale = wanted.locale or found.locale
        reply = ReplyContext(
            found,
            wanted,
            wanted.config or self.config,
            self._languages.wording(locale) if locale else self._wording,
            orchestrator,
            await self._host.runtime(),
            self._bot,
            self._thoughts,
        )
        await reply.prepare()
        return reply

    def _check_open(self) -> None:
        if self._closed:
            raise ClientClosed("this client is closed, as its bot is; make a new one for a new bot")

    def _known_me(self) -> int | None:
        me = self._bot.get_me() if isinstance(self._bot, hikari.ShardAware) else None
        return None if me is None else int(me.id)

    async def _me(self) -> int:
        return self._known_me() or int((await self._bot.rest.fetch_my_user()).id)

    async def _on_started(self, started: hikari.StartedEvent | hikari.RESTBotAware) -> None:
        await self.orchestrator()
        if isinstance(started, hikari.RESTBotAware):
            self._stop_controls.attend(started)
        await self._stop_controls.register()

    async def _on_stopping(self, _: hikari.StoppingEvent | hikari.RESTBotAware) -> None:
        await self.close()
