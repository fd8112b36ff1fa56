"""Read what a page shows of a message out of Discord's own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minamo.inspect.feed_model import Author, Message

Json = dict[str, Any]


def message_of(data: Mapping[str, Any]) -> Message:
    """A message, from the JSON that Discord sends of one."""
    user = data["author"]
    reference = data.get("message_reference") or {}
    return Message(
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
        embeds=[_embed(one) for one in data.get("embeds") or []],
        buttons=list(_buttons(data.get("components") or [])),
        files=[
            {"name": one.get("filename", ""), "size": one.get("size", 0)}
            for one in data.get("attachments") or []
        ],
    )


def name_of(user: Mapping[str, Any]) -> str:
    """What a person or persona is called."""
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
            {"name": one.get("name", ""), "value": one.get("value", "")}
            for one in data.get("fields") or []
        ],
    }


def _buttons(components: list[Any]) -> list[Json]:
    out: list[Json] = []
    for one in components:
        if one.get("type") == 2:  # a button; the other kinds only hold some
            emoji = (one.get("emoji") or {}).get("name") or ""
            out.append(
                {
                    "id": one.get("custom_id") or "",
                    "label": " ".join(part for part in (emoji, one.get("label")) if part),
                    "style": one.get("style", 2),
                    "disabled": bool(one.get("disabled")),
                }
            )
        out += _buttons(one.get("components") or [])
    return out
