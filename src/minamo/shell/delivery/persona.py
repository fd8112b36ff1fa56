"""A persona that survives its webhook: a dead one is recreated once, then the bot itself sends.

The sender may change only before the first message is shown: a reply that begins under one name
and ends under another reads like two.  Webhooks cannot reply, so a notice precedes a reply.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from attrs import define, field, frozen

from minamo.core.messages import SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, Kind, OutgoingMessage
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import (
    Accepted,
    Rejected,
    RetryLater,
    Sender,
    SendOutcome,
    Unknown,
)

# Discord subtext (small and grey); the link jumps to the message.
WORDS = "-# ↪ replying to {author} {link}"
_MESSAGE = "https://discord.com/channels/{guild}/{channel}/{message}"


@frozen(slots=True, kw_only=True)
class ReplyNotice:
    """The line before a persona's reply, naming the message; *words* may be in any language."""

    guild_id: int | None = None
    """None in direct messages."""
    author_id: int | None = None
    """Author of the message replied to; mentioned without a notification."""
    words: str = field(default=WORDS)

    @words.validator
    def _check_words(self, _: object, words: str) -> None:
        if "{link}" not in words or "\n" in words:
            raise BadSetting("reply notice: words must be one line with {link} in it")

    def post(self, channel_id: int, message_id: int) -> OutgoingMessage:
        """Return the notice that the next message replies to *message_id*; it notifies no user."""
        link = _MESSAGE.format(guild=self.guild_id or "@me", channel=channel_id, message=message_id)
        author = f"<@{self.author_id}>" if self.author_id is not None else ""
        text = self.words.replace("{author}", author).replace("{link}", link)
        flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS
        return OutgoingMessage(channel_id=channel_id, text=" ".join(text.split()), flags=flags)


# Refusals for a webhook that was deleted or whose token was reset.
DEAD = frozenset({"unknown_webhook", "bad_token"})
# Refusals caused by the webhook or persona, or possibly so (a bad form can be the name); the bot
# itself may succeed.  A text that was refused would only be refused again.
VOICELESS = DEAD | {"no_permission", "forbidden", "webhook_limit", "bad_form", "wrong_channel"}


class Webhooks(Protocol):
    """A provider of webhooks."""

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | SendOutcome:
        """Return the id and token of a webhook, or the outcome of the failed call."""


class Stage(Enum):
    """Which identity sends, and whether that can change."""

    SILENT = auto()
    """No message is shown: the webhook is tried, and the bot may take its place."""
    SPEAKING = auto()
    """A message is shown: the reply keeps its identity."""
    FALLEN_BACK = auto()
    """The bot itself sends."""


@define(eq=False)
class PersonaSender:
    """A sender that uses a webhook while possible, and the bot otherwise."""

    channel_id: int
    _webhooks: Webhooks = field(repr=False)
    _voice: Callable[[int, str], Sender] = field(repr=False)
    """Makes the sender for a webhook's id and token, with the persona's name and avatar."""
    _bot: Sender = field(repr=False)
    notice: ReplyNotice | None = field(default=None, kw_only=True, repr=False)
    """Sent before a reply: a webhook cannot reply."""
    _now: Sender | None = field(default=None, init=False, repr=False)
    _stage: Stage = field(default=Stage.SILENT, init=False)
    _renewed: bool = field(default=False, init=False)
    _noticed: tuple[Sender, int] | None = field(default=None, init=False, repr=False)
    fell_back: str = field(default="", init=False)
    """Why the bot itself sends; empty while the webhook does."""
    # The bot may have to send, and its messages have a nonce.
    has_nonce: bool = field(default=True, init=False)

    @property
    def place(self) -> int:
        """The channel's id, because the webhook may change."""
        return self.channel_id

    def route(self, kind: Kind) -> str:
        """Return the webhook limit, or the bot's own after it took over."""
        return self._bot.route(kind) if self._stage is Stage.FALLEN_BACK else "webhook"

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a new message through the webhook, or as the bot if the webhook is unusable."""
        if post.reply_to is not None and self._stage is not Stage.FALLEN_BACK:
            await self._give_notice(post.reply_to)
        answer = await self._speak_anew(post)
        may_change = self._stage is Stage.SILENT
        if may_change and isinstance(answer, Rejected) and answer.reason in VOICELESS:
            self._stage, self.fell_back, self._now = Stage.FALLEN_BACK, answer.reason, self._bot
            answer = await self._speak(post)
        if self._stage is Stage.SILENT and isinstance(answer, Accepted):
            self._stage = Stage.SPEAKING
        if isinstance(answer, Rejected) or self._stage is Stage.FALLEN_BACK:
            await self._take_notice_back()
        return answer

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message."""
        return await (self._now or self._bot).edit(post, message_id)

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Delete a sent message."""
        return await (self._now or self._bot).delete(channel_id, message_id)

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the bot as typing: a webhook cannot."""
        return await self._bot.typing(channel_id)

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread as the bot: a webhook cannot."""
        return await self._bot.start_thread(channel_id, message_id, name)

    async def _give_notice(self, reply_to: int) -> None:
        """Send the reply notice, once; the reply follows even if this fails."""
        if self.notice is None:
            return
        # One call more than the permit covers; the rate limit leaves room for it.
        notice, self.notice = self.notice, None
        answer = await self._speak_anew(notice.post(self.channel_id, reply_to))
        if isinstance(answer, Accepted) and answer.message_id is not None and self._now is not None:
            self._noticed = self._now, answer.message_id

    async def _take_notice_back(self) -> None:
        """Delete the notice if no message follows it or the bot itself replies."""
        if self._noticed is not None and self._stage is not Stage.SPEAKING:
            (voice, message_id), self._noticed = self._noticed, None
            await voice.delete(self.channel_id, message_id)

    async def _speak_anew(self, post: OutgoingMessage) -> SendOutcome:
        """Send through the webhook; recreate a dead one, once."""
        answer = await self._speak(post)
        if isinstance(answer, Rejected) and answer.reason in DEAD and not self._renewed:
            self._renewed = True
            self._now = None
            answer = await self._speak(post, anew=True)
        return answer

    async def _speak(self, post: OutgoingMessage, *, anew: bool = False) -> SendOutcome:
        if self._now is None:
            found = await self._webhooks.find(self.channel_id, anew=anew)
            if isinstance(found, Unknown):  # only the lookup is in doubt; no message was sent
                return RetryLater(found.reason)
            if not isinstance(found, tuple):
                return found
            self._now = self._voice(*found)
        return await self._now.create(post)
