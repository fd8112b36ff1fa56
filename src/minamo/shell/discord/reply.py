"""One reply of a client, from its target to the thoughts and notices sent after its end.

It chooses the sender and the send options; streaming itself is done by the orchestrator.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from itertools import count
from typing import Any, Protocol, runtime_checkable

import hikari
from attrs import define, field

from minamo.core.config import StreamConfig
from minamo.core.messages import SUPPRESS_EMBEDS, Button, Receipt
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import Accepted, Sender, SendOptions, SendOutcome
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.discord.bot import BotSender, respond_ephemeral
from minamo.shell.discord.extras import check_extras, send_extras
from minamo.shell.discord.hooks import ReplyInfo
from minamo.shell.discord.interaction import InteractionSender
from minamo.shell.discord.runtime import Runtime
from minamo.shell.discord.stop_controls import BUTTON
from minamo.shell.discord.targets import Interaction, Target
from minamo.shell.discord.webhook import PersonaFactory
from minamo.shell.driver import ChunkSource
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import notice_for, progress_line, send_beside, send_notice
from minamo.shell.notices.thoughts import ThoughtDisplay, tell_thoughts
from minamo.shell.options import ResolvedOptions, StreamContext, new_stream_id
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.channels import QueuedTurn
from minamo.shell.turns.tool_job import LatestLines, Progress, ProgressLines

# Deadline for the apology to a user whose reply will not come.
_APOLOGY_S = 10.0


@define(eq=False)
class ReplyContext:
    """The context of one reply; made before its turn, because an interaction cannot wait."""

    target: Target
    options: ResolvedOptions
    config: StreamConfig
    wording: Wording
    orchestrator: StreamOrchestrator = field(repr=False)
    runtime: Runtime = field(repr=False)
    bot: hikari.RESTAware = field(repr=False)
    thoughts: ThoughtDisplay
    stream_id: str = field(factory=new_stream_id)
    sender: Sender = field(init=False, repr=False)
    channel_id: int = field(init=False)
    """Id of the channel the reply goes to."""
    requester: str | None = field(init=False)
    """Id of the user who asked, as a string; None if unknown."""
    info: ReplyInfo = field(init=False, repr=False)
    """The description of this reply for hooks."""
    _passes: Any = field(factory=partial(count, 1), init=False, repr=False)
    _progress: ProgressLines = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.options.embeds or self.options.components:
            check_extras(self.options)
        author = self.target.author_id
        self.requester = None if author is None else str(author)
        self.channel_id = self.target.channel_id
        self.info = ReplyInfo(
            stream_id=self.stream_id,
            channel_id=self.target.channel_id,
            guild_id=self.target.guild_id,
            user_id=author,
            message_id=self.target.message_id,
        )
        self.sender = self._sender()
        lanes, passes, stream_id = self.runtime.lanes, self._passes, self.stream_id
        channel_id, sender = self.channel_id, self.sender

        def open_progress(lines: LatestLines) -> StreamQueue:
            line_id = f"{stream_id}.{next(passes)}"
            return lanes.open(channel_id, sender, lines, stream_id=line_id)

        self._progress = ProgressLines(open_progress)

    async def prepare(self) -> None:
        """Defer an interaction at once: Discord waits three seconds for a response."""
        sender = self.sender
        if not isinstance(sender, InteractionSender):
            if self.target.interaction is not None:
                await self._announce(self.target.interaction)
            return
        context = self.target.context
        if isinstance(context, _Defers):
            # The framework counts responses, so the deferral must go through it.
            answer = await sender.calls.make(_deferred(context, private=sender.ephemeral))
            if isinstance(answer, Accepted):
                sender.was_deferred()
                return
        await sender.defer()

    async def _announce(self, waiting: Interaction) -> None:
        """Respond to a command directly: a persona will send the reply through a webhook."""
        persona = self.options.persona
        assert persona is not None
        answer = self.wording.say("persona_answers", name=persona.name)
        await self.runtime.calls.make(respond_ephemeral(waiting, answer))

    async def stream(
        self,
        source: ChunkSource,
        ticket: QueuedTurn,
        *,
        first: bool = True,
        suppress_user_errors: bool = False,
        in_turn: bool = False,
    ) -> StreamResult:
        """Stream a reply, or *in_turn* one pass of a turn with tools, also under a call timeout."""
        options = self.options
        context = StreamContext(
            orchestrator=self.orchestrator,
            channel_id=self.channel_id,
            sender=self.sender,
            # Nonces are derived from it, and each pass counts its messages from zero.
            stream_id=f"{self.stream_id}.{next(self._passes)}",
            options=self._send_options(ticket, first=first),
            scene=options.scene,
            edit=options.edit,
            fresh=options.fresh,
            stop_signal=ticket.stop_signal,
            requester=self.requester,
            wording=self.wording,
            suppress_user_errors=options.suppress_user_errors or suppress_user_errors,
            on_stream_progress=options.on_stream_progress,
        )
        timeout_ms = self.config.sdk_call_timeout_ms if in_turn else None
        return await self.orchestrator.run(source, self.config, context, call_timeout_ms=timeout_ms)

    async def send_extras(self, result: StreamResult) -> Receipt | None:
        """Add the caller's components, embeds and attachments to the reply; return the receipt."""
        options = self.options
        wanted = options.components or options.embeds or options.attachments
        if self.config.suppress_text_output or not wanted:
            return None
        return await send_extras(
            self.options,
            result,
            lanes=self.runtime.lanes,
            sender=self.sender,
            channel_id=self.channel_id,
            stream_id=self.stream_id,
        )

    async def tell_thoughts(self, result: StreamResult) -> None:
        """Send the thoughts to the configured place, after the reply."""
        place = self.options.thoughts or self.thoughts
        if place.place == "nowhere" or not result.thought_log:
            return
        # The thoughts behind an ephemeral reply are for its user only.
        sender = self.sender
        private = isinstance(sender, InteractionSender) and await sender.is_private()

        def sender_in(channel_id: int) -> Sender:
            is_here = channel_id == self.channel_id
            return sender if private and is_here else self._bot_in(channel_id)

        await tell_thoughts(
            place,
            result,
            lanes=self.runtime.lanes,
            sender_for=sender_in,
            channel_id=self.channel_id,
            stream_id=self.stream_id,
            wording=self.wording,
            config=self.config,
            threads=None if private else _Threads(self._bot_in(self.channel_id)),
        )

    async def tell_error(self, result: StreamResult, stop_signal: StopSignal) -> None:
        """Send a notice of the error that ended a turn, if no pass of it sent one."""
        if self.options.suppress_user_errors:
            return
        embed = notice_for(result, self.wording, self.orchestrator.notices)
        if embed is not None:
            await send_notice(
                self.runtime.lanes,
                self.sender,
                self.channel_id,
                embed,
                stream_id=self.stream_id,
                stop_signal=stop_signal,
            )

    def show_progress(self, progress: Progress) -> None:
        """Queue a progress line of a running tool, without waiting for it to be sent."""
        # Subtext ends at the end of its line.
        line = progress_line(progress.text, self.config)
        self._progress.show(progress, line)

    def withdraw_progress(self) -> None:
        """Withdraw progress lines that were not shown yet."""
        self._progress.withdraw()

    async def is_waited_for(self) -> bool:
        """Return whether the user sees the bot "thinking…" and no reply will be sent."""
        if not isinstance(self.sender, InteractionSender) or self.config.suppress_text_output:
            return False
        return await self.sender.is_waited_for()

    async def apologise(self, phrase: str) -> None:
        """Send the reason why there is no reply to a user who sees the bot "thinking…"."""
        waiting = self.target.interaction
        await send_beside(
            self.runtime.lanes,
            self.sender,
            self.target.channel_id,
            [self.wording.say(phrase)],
            options=SendOptions(),
            stream_id=f"{self.stream_id}/sorry",
            deadline_s=_APOLOGY_S,
            # Not queued behind the reply that causes it.
            line=None if waiting is None else int(waiting.id),
        )

    def _send_options(self, ticket: QueuedTurn, *, first: bool) -> SendOptions:
        options, target = self.options, self.target
        wanted = options.reply
        if wanted == "auto":
            wanted = target.addressed or ticket.from_queue
        reply_to = target.message_id if wanted and first else None
        button = None
        if options.button:
            button = Button(f"{BUTTON}{self.stream_id}", self.wording.say("stop_button"))
        return SendOptions(
            reply_to=reply_to,
            ping=options.ping,
            flags=0 if options.link_previews else SUPPRESS_EMBEDS,
            overflow=options.overflow,
            button=button,
            unattached=lambda name: f"-# {self.wording.say('file_unattached', name=name)}",
        )

    def _sender(self) -> Sender:
        target, options = self.target, self.options
        bot = self._bot_in(target.channel_id)
        if options.persona is not None:
            cache = self.bot.cache if isinstance(self.bot, hikari.CacheAware) else None
            personas = PersonaFactory(
                self.runtime.own_webhooks, self.runtime.webhooks, self.wording, cache
            )
            return personas.sender(options.persona, bot, target)
        if target.interaction is None:
            return bot
        interaction, inspector = target.interaction, self.orchestrator.inspector
        return InteractionSender(
            self.runtime.webhooks,
            int(interaction.application_id),
            int(interaction.id),
            interaction.token,
            bot,
            ephemeral=options.ephemeral or _defers_privately(target.context),
            watch=None
            if inspector is None
            else inspector.observer("interaction", target.channel_id),
        )

    def _bot_in(self, channel_id: int) -> BotSender:
        return BotSender(self.bot.rest, channel_id)


def _defers_privately(context: Any) -> bool:
    """Return whether arc declares the command ephemeral; arc's `defer` ignores that."""
    try:
        return bool(context.command.autodefer.name == "EPHEMERAL")
    except AttributeError:  # of another framework, or of none
        return False


@runtime_checkable
class _Defers(Protocol):
    """A context of a command framework that can defer its response."""

    def defer(self, **how: Any) -> Awaitable[object]: ...


async def _deferred(context: _Defers, *, private: bool) -> None:
    if not private:
        await context.defer()
        return
    try:
        await context.defer(flags=hikari.MessageFlag.EPHEMERAL)
    except TypeError:  # crescent and lightbulb have a parameter of their own for it
        await context.defer(ephemeral=True)


@define
class _Threads:
    """A starter of threads below messages of one channel."""

    _bot: BotSender

    async def start_thread(self, message_id: int, name: str) -> int | str:
        """Start a thread; return its id, or the reason why there is none."""
        answer: SendOutcome = await self._bot.start_thread(self._bot.place, message_id, name)
        if isinstance(answer, Accepted) and answer.message_id is not None:
            return answer.message_id
        return answer.reason or "unknown"
