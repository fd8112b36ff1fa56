"""A message of a channel as a page shows it."""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen

Json = dict[str, Any]


@frozen(slots=True, kw_only=True)
class Author:
    """Who wrote a message."""

    id: str
    name: str
    is_app: bool = False
    """A bot, or a persona that speaks through a webhook."""


@define(eq=False, kw_only=True)
class Message:
    """A message as it stands now."""

    id: str
    channel: str
    author: Author
    text: str = field(default="", repr=False)
    at: str = ""
    """When it was written, as ISO 8601."""
    edited: bool = False
    reply_to: str | None = None
    embeds: list[Json] = field(factory=list, repr=False)
    buttons: list[Json] = field(factory=list, repr=False)
    files: list[Json] = field(factory=list, repr=False)

    def record(self) -> Json:
        """As JSON."""
        return {
            "id": self.id,
            "channel": self.channel,
            "author": {
                "id": self.author.id,
                "name": self.author.name,
                "app": self.author.is_app,
            },
            "text": self.text,
            "at": self.at,
            "edited": self.edited,
            "reply_to": self.reply_to,
            "embeds": self.embeds,
            "buttons": self.buttons,
            "files": self.files,
        }
