"""What stands above the reply of a persona: webhooks cannot reply, so a small line says to what."""

from __future__ import annotations

from attrs import field, frozen

from minamo.errors import BadSetting
from minamo.shell.sending.sender import SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, Post

# Small grey text; the link jumps to the message.
WORDS = "-# ↪ replying to {author} {link}"
_MESSAGE = "https://discord.com/channels/{guild}/{channel}/{message}"


@frozen(slots=True, kw_only=True)
class ReplyNotice:
    """The notice for replies in one server; *words* may be in any language."""

    guild_id: int | None = None
    """None in direct messages."""
    author_id: int | None = None
    """Who is named as the author of the message replied to, without a bell."""
    words: str = field(default=WORDS)

    @words.validator
    def _check_words(self, _: object, words: str) -> None:
        if "{link}" not in words or "\n" in words:
            raise BadSetting("reply notice: words must be one line with {link} in it")

    def post(self, channel_id: int, message_id: int) -> Post:
        """The notice that what follows replies to *message_id*; it rings for nobody."""
        link = _MESSAGE.format(guild=self.guild_id or "@me", channel=channel_id, message=message_id)
        author = f"<@{self.author_id}>" if self.author_id is not None else ""
        text = self.words.replace("{author}", author).replace("{link}", link)
        flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS
        return Post(channel_id=channel_id, text=" ".join(text.split()), flags=flags)
