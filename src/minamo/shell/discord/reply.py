"""One reply of a client: from what it answers to what is left to tell when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import hikari
from attrs import define, field

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import (
    SUPPRESS_EMBEDS,
    Accepted,
    Button,
    Sender,
    SendOptions,
    SendOutcome,
)
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.calls import respond_ephemeral
from minamo.shell.discord.interaction import InteractionSender
from minamo.shell.discord.runtime import Runtime
from minamo.shell.discord.stop_controls import BUTTON
from minamo.shell.discord.targets import Target
from minamo.shell.discord.webhook import PersonaFactory
from minamo.shell.driver import ChunkSource
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import clean_beside, notice_for, send_beside, send_notice
from minamo.shell.notices.thoughts import ThoughtDisplay, tell_thoughts
from minamo.shell.options import ResolvedOptions, StreamContext, new_stream_id
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.shell.turns.channels import QueuedTurn
from minamo.shell.turns.progress_lines import LatestLines, ProgressLines
from minamo.shell.turns.tool_context import Progress

# Said to somebody who waits for an answer that will not come.
_APOLOGY_S = 10.0


@define(eq=False)
class ReplyContext:
    """What one reply needs; made before it is its turn, because an interaction cannot wait."""

    target: Target
    options: ResolvedOptions
    config: StreamConfig
    wording: Wording
    orchestrator: StreamOrchestrator = field(repr=False)
    home: Runtime = field(repr=False)
    bot: hikari.RESTAware = field(repr=False)
    thoughts: ThoughtDisplay
    stream_id: str = field(factory=new_stream_id)
    sender: Sender = field(init=False, repr=False)
    _passes: Any = field(factory=lambda: count(1), init=False, repr=False)
    _progress: ProgressLines = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.sender = self._sender()
        self._progress = ProgressLines(self._open_progress)

    @property
    def channel_id(self) -> int:
        """Where it is written."""
        return self.target.channel_id

    @property
    def requester(self) -> str | None:
        """Who asked."""
        return None if self.target.author_id is None else str(self.target.author_id)

    async def prepare(self) -> None:
        """Defer an interaction, at once: Discord waits three seconds for a sign of life."""
        sender = self.sender
        if not isinstance(sender, InteractionSender):
            await self._announce()
            return
        defer = getattr(self.target.context, "defer", None)
        if defer is not None:
            # The framework keeps count of answers, and must not be surprised by ours.
            answer = await sender.calls.make(_deferred(defer, private=sender.ephemeral))
            if isinstance(answer, Accepted):
                sender.was_deferred()
                return
        await sender.defer()

    async def _announce(self) -> None:
        """Answer a command itself when a persona, through a webhook, will do the talking."""
        waiting, persona = self.target.interaction, self.options.persona
        if waiting is not None and persona is not None:
            said = self.wording.say("persona_answers", name=persona.name)
            await self.home.calls.make(respond_ephemeral(waiting, said))

    async def stream(
        self,
        source: ChunkSource,
        ticket: QueuedTurn,
        *,
        first: bool = True,
        suppress_user_errors: bool = False,
        in_turn: bool = False,
    ) -> StreamResult:
        """Stream a reply, or *in_turn* one pass of a turn with tools, which has a clock more."""
        context = self._context(ticket, first=first, suppress=suppress_user_errors)
        pass_ = self.orchestrator.stream_pass if in_turn else self.orchestrator.stream_plain
        return await pass_(source, self.config, context)

    async def tell_thoughts(self, result: StreamResult) -> None:
        """Tell them where the setting says, when the reply is there."""
        place = self.options.thoughts or self.thoughts
        if place.place == "nowhere" or not result.thought_log:
            return
        # Of what one person was told, only they are to know the thoughts.
        sender = self.sender
        private = isinstance(sender, InteractionSender) and await sender.is_private()

        def sender_in(channel_id: int) -> Sender:
            is_here = channel_id == self.channel_id
            return sender if private and is_here else self._bot_in(channel_id)

        await tell_thoughts(
            place,
            result,
            lanes=self.home.lanes,
            sender_for=sender_in,
            channel_id=self.channel_id,
            stream_id=self.stream_id,
            wording=self.wording,
            config=self.config,
            threads=None if private else _Threads(self._bot_in(self.channel_id)),
        )

    async def tell_error(self, result: StreamResult) -> None:
        """Say what ended a turn, where no pass of it did."""
        if self.options.suppress_user_errors:
            return
        embed = notice_for(result, self.wording, self.orchestrator.notices)
        if embed is not None:
            await send_notice(
                self.home.lanes, self.sender, self.channel_id, embed, stream_id=self.stream_id
            )

    def show_progress(self, progress: Progress) -> None:
        """Let a running tool say a line; nobody waits for it."""
        # Subtext ends with its line.
        said = f"-# {' '.join(clean_beside(progress.text, self.config).split())}"
        self._progress.show(progress, said)

    def withdraw_progress(self) -> None:
        """Take back the lines of tools that were not shown yet."""
        self._progress.withdraw()

    def _open_progress(self, lines: LatestLines) -> StreamQueue:
        return self.home.lanes.open(
            self.channel_id,
            self.sender,
            lines,
            stream_id=f"{self.stream_id}.{next(self._passes)}",
        )

    async def is_waited_for(self) -> bool:
        """Whether somebody sees the bot "thinking…" and nobody will say anything."""
        if not isinstance(self.sender, InteractionSender) or self.config.suppress_text_output:
            return False
        return await self.sender.is_waited_for()

    async def apologise(self, phrase: str) -> None:
        """Say why there will be no answer, to somebody who sees the bot "thinking…"."""
        waiting = self.target.interaction
        await send_beside(
            self.home.lanes,
            self.sender,
            self.target.channel_id,
            [self.wording.say(phrase)],
            manner=SendOptions(),
            stream_id=f"{self.stream_id}/sorry",
            deadline_s=_APOLOGY_S,
            # Not behind the reply that is the reason for it.
            line=None if waiting is None else int(waiting.id),
        )

    def _context(self, ticket: QueuedTurn, *, first: bool, suppress: bool) -> StreamContext:
        options = self.options
        return StreamContext(
            orchestrator=self.orchestrator,
            channel_id=self.target.channel_id,
            sender=self.sender,
            # Nonces are made of it, and each pass counts its messages from the start.
            stream_id=f"{self.stream_id}.{next(self._passes)}",
            manner=self._manner(ticket, first=first),
            scene=options.scene,
            edit=options.edit,
            fresh=options.fresh,
            wishes=ticket.wishes,
            requester=self.requester,
            wording=self.wording,
            suppress_user_errors=options.suppress_user_errors or suppress,
            on_stream_progress=options.on_stream_progress,
        )

    def _manner(self, ticket: QueuedTurn, *, first: bool) -> SendOptions:
        options, target = self.options, self.target
        wanted = options.reply
        if wanted == "auto":
            wanted = target.addressed or ticket.from_queue
        reply_to = target.message_id if wanted and first else None
        button = Button(f"{BUTTON}{self.stream_id}", self.wording.say("stop_button"))
        return SendOptions(
            reply_to=reply_to,
            ping=options.ping,
            flags=0 if options.link_previews else SUPPRESS_EMBEDS,
            overflow=options.overflow,
            button=button if options.button else None,
        )

    def _sender(self) -> Sender:
        target, options = self.target, self.options
        bot = self._bot_in(target.channel_id)
        if options.persona is not None:
            cache = getattr(self.bot, "cache", None)
            speaking = PersonaFactory(
                self.home.own_webhooks, self.home.webhooks, self.wording, cache
            )
            return speaking.sender(options.persona, bot, target)
        if target.interaction is None:
            return bot
        one = target.interaction
        return InteractionSender(
            self.home.webhooks,
            int(one.application_id),
            int(one.id),
            one.token,
            bot,
            ephemeral=options.ephemeral or _defers_privately(target.context),
        )

    def _bot_in(self, channel_id: int) -> BotSender:
        return BotSender(self.bot.rest, channel_id)


def _defers_privately(context: Any) -> bool:
    """Whether a command is declared so in arc, whose `defer` does not look at it."""
    mode = getattr(getattr(context, "command", None), "autodefer", None)
    return getattr(mode, "name", "") == "EPHEMERAL"


async def _deferred(defer: Callable[..., Any], *, private: bool) -> None:
    if not private:
        await defer()
        return
    try:
        await defer(flags=hikari.MessageFlag.EPHEMERAL)
    except TypeError:  # crescent and lightbulb have a word of their own for it
        await defer(ephemeral=True)


@define
class _Threads:
    """Threads below messages of one channel."""

    _bot: BotSender

    async def start_thread(self, message_id: int, name: str) -> int | str:
        """The id of the thread, or why there is none."""
        answer: SendOutcome = await self._bot.start_thread(self._bot.place, message_id, name)
        if isinstance(answer, Accepted) and answer.message_id is not None:
            return answer.message_id
        return getattr(answer, "reason", "unknown")
