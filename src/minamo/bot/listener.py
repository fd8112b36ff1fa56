"""Event handlers of the ready-made bot: mentions, direct messages and the ask command.

Also the rate-limit replies, the history of a private channel, and the registration of the
command.  Streaming is left to the client.
"""

from __future__ import annotations

import datetime
import logging
import math
import re
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

import hikari
from attrs import define, field, frozen

from minamo.bot.rate_limit import Allowed, Limited, RateLimiter
from minamo.bot.settings import PersonaSettings, Settings
from minamo.core.chunks import Chunk, as_length
from minamo.errors import ClientClosed
from minamo.shell.client import Client
from minamo.shell.delivery.interfaces import Accepted
from minamo.shell.discord.bot import CallRunner, respond_ephemeral
from minamo.shell.discord.history import HistoryLimits, ReplyChain
from minamo.shell.discord.targets import read_target
from minamo.shell.notices.localization import FALLBACK, Languages, Wording, translations
from minamo.shell.options import Persona, StreamOptions
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn import ChatProvider
from minamo.shell.turns.turn_result import TurnResult
from minamo.wire.conversation import ChatMessage, system, user


def too_much(verdict: Limited, wording: Wording) -> str:
    """Return the reply to a user who is over the rate limit."""
    if verdict.wait_s is None:
        return wording.say("still_answering")
    return wording.say("asked_too_much", seconds=max(1, math.ceil(verdict.wait_s)))


# After a longer pause a new conversation begins.
_PAUSE = datetime.timedelta(hours=6)


async def direct_conversation(
    rest: hikari.api.RESTClient, me: int, last: hikari.Message, memory: HistoryLimits
) -> list[ChatMessage]:
    """Return the newest messages of a private channel up to *last*, as a conversation."""
    before: list[hikari.Message] = []

    async def look() -> None:
        found = rest.fetch_messages(last.channel_id, before=last.id).limit(memory.messages_max - 1)
        before.extend([message async for message in found])

    if memory.messages_max > 1:
        # If the fetch fails, the history is left out; a conversation works without it.
        await CallRunner().make(look())
    kept: list[hikari.PartialMessage] = [last]
    left, at = memory.characters_max - len(last.content or ""), last.timestamp
    for message in before:
        left -= len(message.content or "")
        if left < 0 or at - message.timestamp > _PAUSE:
            break
        kept.append(message)
        at = message.timestamp
    return await ReplyChain(rest, me, memory).read(kept[::-1])


_MENTIONS = re.compile(r"<@!?\d+>|<@&\d+>")
# Discord takes 6 000; a longer question is better sent as a file or in parts.
_PROMPT_MAX = 4_000


@frozen
class Ask:
    """The options of one use of the ask command."""

    prompt: str = field(repr=as_length)
    persona: str | None = None


async def register_ask(
    rest: hikari.api.RESTClient,
    name: str,
    personas: Sequence[str],
    wording: Callable[[str], Wording],
) -> hikari.SlashCommand | None:
    """Register the ask command; other commands of the bot are not changed."""
    if not name:
        return None
    say = wording(FALLBACK).say
    options = [
        hikari.CommandOption(
            type=hikari.OptionType.STRING,
            name="prompt",
            description=say("ask_prompt"),
            description_localizations=translations(wording, "ask_prompt"),
            is_required=True,
            max_length=_PROMPT_MAX,
        )
    ]
    if personas:
        options.append(
            hikari.CommandOption(
                type=hikari.OptionType.STRING,
                name="persona",
                description=say("ask_persona"),
                description_localizations=translations(wording, "ask_persona"),
                choices=[hikari.CommandChoice(name=persona, value=persona) for persona in personas],
            )
        )
    app = await rest.fetch_application()
    return await rest.create_slash_command(
        app.id,
        name,
        say("ask_command"),
        description_localizations=translations(wording, "ask_command"),
        options=options,
    )


def read_ask(interaction: hikari.CommandInteraction) -> Ask:
    """Return the options of a command interaction."""
    given = {option.name: option.value for option in interaction.options or ()}
    persona = given.get("persona")
    return Ask(str(given.get("prompt") or "…"), None if persona is None else str(persona))


_LOG = logging.getLogger("minamo.bot")

OnResult = Callable[[TurnResult], object]


@frozen
class Counted:
    """A provider whose calls count against the rate limit of a user."""

    _provider: ChatProvider
    _granted: Allowed = field(repr=False)

    def chat(self, messages: Sequence[ChatMessage], **options: Any) -> AsyncIterable[str | Chunk]:
        """Count a call and return the provider's reply."""
        self._granted.call_model()
        return self._provider.chat(messages, **options)


@define(eq=False)
class Answering:
    """A bot that answers: call `listen` once, before the bot starts."""

    bot: hikari.GatewayBot = field(repr=False)
    client: Client
    settings: Settings
    providers: Sequence[ChatProvider] = field(repr=False)
    """Tried in order, until one has begun to answer."""
    tools: Tools = field(factory=Tools)
    on_result: OnResult = field(default=lambda _: None, repr=False)
    """Called with the result of every turn."""
    allowance: RateLimiter = field(init=False, repr=False)
    _calls: CallRunner = field(factory=CallRunner, init=False, repr=False)
    _languages: Languages = field(factory=Languages, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.allowance = RateLimiter(self.settings.limits)

    def listen(self) -> None:
        """Subscribe to the bot's events."""
        self.bot.subscribe(hikari.StartedEvent, self._on_started)
        self.bot.subscribe(hikari.MessageCreateEvent, self._on_message)
        self.bot.subscribe(hikari.InteractionCreateEvent, self._on_interaction)

    async def _on_started(self, _: hikari.StartedEvent) -> None:
        names = [persona.name for persona in self.settings.persona]
        answer = await self._calls.make(
            register_ask(
                self.bot.rest, self.settings.bot.ask_command, names, self._languages.wording
            )
        )
        if not isinstance(answer, Accepted):
            _LOG.warning("the command to ask with is not registered: %r", answer)

    # Incoming events.

    async def _on_message(self, event: hikari.MessageCreateEvent) -> None:
        if not event.is_human or not self._is_for_me(event):
            return
        if not self._may_here(event.message.guild_id, event.channel_id):
            return
        with self.allowance.asked(int(event.author_id)) as verdict:
            if isinstance(verdict, Limited):
                if not verdict.notified:
                    refusal = too_much(verdict, self._wording())
                    await self._calls.make(_respond(event.message, refusal))
                return
            if _is_bare(event.message):
                await self._calls.make(_respond(event.message, self._wording().say("bare_mention")))
                return
            messages = await self._conversation(event)
            if messages:
                in_guild = event.message.guild_id is not None
                persona = self._persona_in(event.channel_id) if in_guild else None
                await self._answer(event, messages, persona, verdict)

    async def _on_interaction(self, event: hikari.InteractionCreateEvent) -> None:
        interaction = event.interaction
        if not isinstance(interaction, hikari.CommandInteraction):
            return
        if (
            not interaction.command_name
            or interaction.command_name != self.settings.bot.ask_command
        ):
            return
        ask, wording = read_ask(interaction), self._wording(str(interaction.locale))
        if not self._may_here(interaction.guild_id, interaction.channel_id):
            await self._calls.make(respond_ephemeral(interaction, wording.say("not_here")))
            return
        with self.allowance.asked(int(interaction.user.id)) as verdict:
            if isinstance(verdict, Limited):
                # A command is always answered; only the user who sent it sees the answer.
                await self._calls.make(respond_ephemeral(interaction, too_much(verdict, wording)))
                return
            await self._on_ask(interaction, ask, verdict)

    async def _on_ask(
        self, interaction: hikari.CommandInteraction, ask: Ask, granted: Allowed
    ) -> None:
        persona = self._persona_named(ask.persona) or self._persona_in(interaction.channel_id)
        if interaction.guild_id is None:
            persona = None  # direct messages have no webhooks
        name = interaction.user.global_name or interaction.user.username
        await self._answer(interaction, [user(ask.prompt, name=str(name))], persona, granted)

    def _wording(self, locale: str | None = None) -> Wording:
        """Return the wording for a user; only commands carry a user's language."""
        return self._languages.wording(locale or self.settings.bot.locale)

    def _is_for_me(self, event: hikari.MessageCreateEvent) -> bool:
        wants, message = self.settings.bot, event.message
        if not message.content and not message.attachments:
            return False  # addressed to another user, and without the intent not readable
        if message.guild_id is None:
            return wants.direct_messages
        me = self.bot.get_me()
        return wants.mentions and read_target(event, int(me.id) if me else None).addressed

    def _may_here(self, guild_id: int | None, channel_id: int) -> bool:
        wants = self.settings.bot
        if guild_id is None:
            return wants.direct_messages
        if wants.guilds and int(guild_id) not in wants.guilds:
            return False
        return not wants.channels or bool(self._places(channel_id) & set(wants.channels))

    def _places(self, channel_id: int) -> set[int]:
        """Return the channel's id and, for a thread, its parent's."""
        thread = self.bot.cache.get_thread(channel_id)
        return {int(channel_id)} if thread is None else {int(channel_id), int(thread.parent_id)}

    # Answers.

    async def _conversation(self, event: hikari.MessageCreateEvent) -> list[ChatMessage] | None:
        memory = HistoryLimits(messages_max=self.settings.bot.memory_messages)
        me, message = self.bot.get_me(), event.message
        if message.guild_id is None and message.message_reference is None and me is not None:
            return await direct_conversation(self.bot.rest, int(me.id), message, memory)
        messages: list[ChatMessage] | None = await self._quietly(
            self.client.conversation(event, memory)
        )
        return messages

    async def _answer(
        self,
        target: Any,
        said: Sequence[ChatMessage],
        persona: PersonaSettings | None,
        granted: Allowed,
    ) -> None:
        prompt = (persona and persona.prompt) or self.settings.bot.system_prompt
        messages = [system(prompt), *said] if prompt.strip() else list(said)
        first, *others = (Counted(provider, granted) for provider in self.providers)
        result = await self._quietly(
            self.client.turn(
                target,
                first,
                messages,
                tools=self.tools,
                fallbacks=others,
                **self._how(persona),
            )
        )
        if result is not None:
            self.on_result(result)

    def _how(self, persona: PersonaSettings | None) -> StreamOptions:
        wants = self.settings.bot
        options = StreamOptions(
            edit=wants.mode == "edit",
            button=wants.stop_button,
            link_previews=wants.link_previews,
        )
        if persona is not None:
            options["persona"] = Persona(persona.name, persona.avatar_url or None)
        return options

    async def _quietly(self, call: Awaitable[Any]) -> Any:
        """Return the result of *call*, or None if the client was closed meanwhile."""
        try:
            return await call
        except ClientClosed:
            return None

    # Personas.

    def _persona_in(self, channel_id: int) -> PersonaSettings | None:
        places = self._places(channel_id)
        return next(
            (persona for persona in self.settings.persona if places & set(persona.channels)), None
        )

    def _persona_named(self, name: str | None) -> PersonaSettings | None:
        return next((persona for persona in self.settings.persona if persona.name == name), None)


def _is_bare(message: hikari.Message) -> bool:
    """Return whether *message* only mentions the bot: no text, no file, no message replied to."""
    beside = message.attachments or message.message_reference or message.stickers
    return not beside and not _MENTIONS.sub("", message.content or "").strip()


async def _respond(message: hikari.Message, text: str) -> hikari.Message:
    return await message.respond(
        text,
        reply=message,
        flags=hikari.MessageFlag.SUPPRESS_EMBEDS,
        mentions_everyone=False,
        mentions_reply=False,
        user_mentions=False,
        role_mentions=False,
    )
