"""Model of the channels' messages, independent of Discord's JSON and of hikari's classes.

In the demo the local Discord fills it; with a real bot the sent messages do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from minamo.core.messages import Embed, OutgoingMessage, Receipt

Json = dict[str, Any]


@frozen(slots=True, kw_only=True)
class Author:
    """The author of a message."""

    id: str
    name: str
    is_app: bool = False
    """Whether it is a bot, or a persona that speaks through a webhook."""


@define(eq=False, kw_only=True)
class ChannelMessage:
    """The current version of a message."""

    id: str
    channel: str
    author: Author
    text: str = field(default="", repr=False)
    at: str = ""
    """Creation time as ISO 8601."""
    edited: bool = False
    reply_to: str | None = None
    embeds: list[Json] = field(factory=list, repr=False)
    buttons: list[Json] = field(factory=list, repr=False)
    files: list[Json] = field(factory=list, repr=False)

    def record(self) -> Json:
        """Return the message as JSON."""
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


def message_of(data: Mapping[str, Any]) -> ChannelMessage:
    """Return a message from Discord's JSON for it."""
    user = data["author"]
    reference = data.get("message_reference") or {}
    return ChannelMessage(
        id=str(data["id"]),
        channel=str(data["channel_id"]),
        author=Author(
            id=f"{user['id']}/{name_of(user)}",  # personas share the id of their webhook
            name=name_of(user),
            is_app=bool(user.get("bot")) or data.get("webhook_id") is not None,
        ),
        text=str(data.get("content") or ""),
        at=str(data.get("timestamp") or ""),
        edited=data.get("edited_timestamp") is not None,
        reply_to=reference.get("message_id"),
        embeds=[_embed(embed) for embed in data.get("embeds") or []],
        buttons=list(_buttons(data.get("components") or [])),
        files=[
            {"name": attachment.get("filename", ""), "size": attachment.get("size", 0)}
            for attachment in data.get("attachments") or []
        ],
    )


def name_of(user: Mapping[str, Any]) -> str:
    """Return the display name of a user or persona."""
    return str(user.get("global_name") or user.get("username") or "someone")


def _embed(data: Mapping[str, Any]) -> Json:
    author, footer = data.get("author") or {}, data.get("footer") or {}
    return {
        "title": data.get("title") or "",
        "description": data.get("description") or "",
        "colour": data.get("color"),
        "author": author.get("name") or "",
        "footer": footer.get("text") or "",
        "fields": [
            {"name": field_.get("name", ""), "value": field_.get("value", "")}
            for field_ in data.get("fields") or []
        ],
    }


def _buttons(components: list[Any]) -> list[Json]:
    out: list[Json] = []
    for component in components:
        if component.get("type") == 2:  # a button; the other types are only containers
            emoji = (component.get("emoji") or {}).get("name") or ""
            out.append(
                {
                    "id": component.get("custom_id") or "",
                    "label": " ".join(part for part in (emoji, component.get("label")) if part),
                    "style": component.get("style", 2),
                    "disabled": bool(component.get("disabled")),
                }
            )
        out += _buttons(component.get("components") or [])
    return out


# Messages kept per channel, and number of channels; the oldest are dropped first.
MESSAGES_MAX = 200
CHANNELS_MAX = 32
# Channel names kept; a large bot sees more channels, and the rest are shown by id.
NAMES_MAX = 10_000
# User names kept; the oldest are dropped first.
PEOPLE_MAX = 1_000
# How long Discord shows a user as typing after the last typing event.
TYPING_S = 10.0
# The flag of a message that only the user of a command can see.
_EPHEMERAL = 1 << 6

Tell = Callable[[Json], object]


_UNNAMED = Author(id="0", name="bot", is_app=True)


@define(eq=False)
class Feed:
    """The channels with their newest messages."""

    tell: Tell = field(default=lambda _: None, repr=False)
    """Called synchronously with every change."""
    names: dict[str, str] = field(factory=dict)
    """Channel names by id."""
    people: dict[str, str] = field(factory=dict, init=False)
    """User names by id, learnt from messages and their mentions."""
    me: Author = _UNNAMED
    """Default author in `sent`."""
    _channels: OrderedDict[str, OrderedDict[str, ChannelMessage]] = field(
        factory=OrderedDict, init=False
    )

    def put(self, message: ChannelMessage) -> None:
        """Add or replace a message."""
        shelf = self._shelf(message.channel)
        shelf[message.id] = message
        while len(shelf) > MESSAGES_MAX:
            shelf.popitem(last=False)
        called = self.names.get(message.channel)
        self.tell({"kind": "message", **message.record(), "channel_name": called})

    def drop(self, channel: str, message_id: str) -> None:
        """Remove a message."""
        if self._shelf(channel).pop(message_id, None) is not None:
            self.tell({"kind": "deleted", "channel": channel, "id": message_id})

    def typing(self, channel: str, author: Author) -> None:
        """Report that *author* is typing."""
        shown = {"id": author.id, "name": author.name, "app": author.is_app}
        self.tell({"kind": "typing", "channel": channel, "author": shown, "for_s": TYPING_S})

    def sent(
        self, post: OutgoingMessage, receipt: Receipt, *, author: Author | None = None, at: str = ""
    ) -> None:
        """Apply a create, edit or delete by the bot; only delivered ones are shown."""
        if receipt.outcome != "delivered" or receipt.message_id is None:
            return
        channel, number = str(post.channel_id), str(receipt.message_id)
        if receipt.kind == "delete":
            self.drop(channel, number)
            return
        before = self._shelf(channel).get(number)
        self.put(
            ChannelMessage(
                id=number,
                channel=channel,
                author=author or self.me,
                text=post.text,
                at=before.at if before is not None else at,
                edited=receipt.kind == "edit",
                reply_to=str(post.reply_to) if post.reply_to is not None else None,
                embeds=[] if post.embed is None else [_notice(post.embed)],
            )
        )

    def gateway(self, name: str, data: Mapping[str, Any]) -> None:
        """Apply a Discord gateway event, such as those the local Discord's `watch` passes on."""
        if name.startswith("MESSAGE_") and int(data.get("flags") or 0) & _EPHEMERAL:
            return  # an ephemeral message is in no channel
        if name in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and "author" in data:
            self._learn((data["author"], *(data.get("mentions") or [])))
            self.put(message_of(data))
        elif name in ("CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE"):
            self._call([data])
        elif name == "GUILD_CREATE":
            self._call([*(data.get("channels") or []), *(data.get("threads") or [])])
        elif name == "MESSAGE_DELETE":
            self.drop(str(data["channel_id"]), str(data["id"]))
        elif name == "MESSAGE_DELETE_BULK":
            for message_id in data["ids"]:
                self.drop(str(data["channel_id"]), str(message_id))
        elif name == "TYPING_START":
            user = (data.get("member") or {}).get("user") or {}
            self.typing(
                str(data["channel_id"]),
                Author(
                    id=str(data.get("user_id", "")),
                    name=str(user.get("username") or self.me.name),
                    is_app=bool(user.get("bot", True)),
                ),
            )

    def _call(self, channels: Iterable[Mapping[str, Any]]) -> None:
        for channel in channels:
            self.names[str(channel["id"])] = str(channel.get("name") or "")
        while len(self.names) > NAMES_MAX:
            del self.names[next(iter(self.names))]

    def _learn(self, users: Iterable[Mapping[str, Any]]) -> None:
        found = {str(user["id"]): name_of(user) for user in users}
        new = {key: name for key, name in found.items() if self.people.get(key) != name}
        self.people |= new
        while len(self.people) > PEOPLE_MAX:
            del self.people[next(iter(self.people))]
        if new:
            self.tell({"kind": "people", "names": new})

    def names_now(self) -> dict[str, str]:
        """Return the names of channels with messages, or of one channel if there are none."""
        heard = {key: self.names[key] for key in self._channels if key in self.names}
        return heard or dict([*self.names.items()][:1])

    def snapshot(self) -> list[Json]:
        """Return every message kept, per channel, oldest first."""
        return [message.record() for shelf in self._channels.values() for message in shelf.values()]

    def _shelf(self, channel: str) -> OrderedDict[str, ChannelMessage]:
        shelf = self._channels.get(channel)
        if shelf is None:
            shelf = self._channels[channel] = OrderedDict()
            while len(self._channels) > CHANNELS_MAX:
                self._channels.popitem(last=False)
        return shelf


def _notice(embed: Embed) -> Json:
    return {"title": embed.title, "description": embed.description, "colour": embed.colour}
