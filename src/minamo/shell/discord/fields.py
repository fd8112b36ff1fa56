"""A post in hikari's words: the arguments that its calls have in common."""

from __future__ import annotations

from typing import Any

import hikari

from minamo.shell.sending.sender import SUPPRESS_EMBEDS, Button, Post


def given(value: Any) -> Any:
    """*value*, or that there is none."""
    return hikari.UNDEFINED if value is None or value == "" else value


def creating(post: Post) -> dict[str, Any]:
    """What a new message takes, but for its text and what only some routes know."""
    asked = allowed(post)
    if post.flags:
        asked["flags"] = post.flags
    if post.embed is not None:
        asked["embed"] = _embed(post)
    if post.button is not None:
        asked["component"] = _row(post.button)
    if post.file is not None:
        asked["attachment"] = hikari.Bytes(post.file.data, post.file.name)
    return asked


def editing(post: Post) -> dict[str, Any]:
    """What a change of a message takes, but for its text and its flags."""
    asked = allowed(post)
    if post.bare:
        asked["components"] = []
    return asked


def edited_flags(post: Post) -> int:
    """The flags that a change of a message may set: Discord takes this one only."""
    return post.flags & SUPPRESS_EMBEDS


def allowed(post: Post) -> dict[str, Any]:
    """Said on every call: left out of an edit, Discord would ring for everything in the text."""
    return {
        "mentions_everyone": post.ping.everyone,
        "user_mentions": post.ping.users or False,
        "role_mentions": post.ping.roles or False,
    }


def _embed(post: Post) -> hikari.Embed:
    assert post.embed is not None
    made = post.embed
    return hikari.Embed(
        title=made.title or None, description=made.description or None, colour=made.colour
    )


def _row(button: Button) -> hikari.api.ComponentBuilder:
    row = hikari.impl.MessageActionRowBuilder()
    row.add_interactive_button(hikari.ButtonStyle.DANGER, button.custom_id, label=button.label)
    return row
