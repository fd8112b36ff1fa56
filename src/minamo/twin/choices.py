"""Actions of users with select menus, modals, autocompleted options and context menus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minamo.twin.actors import begin, find_command, find_part, nested, parts_of, resolved
from minamo.twin.discord import Discord
from minamo.twin.permissions import permissions
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Channel, Interaction, Message, User

_COMMAND, _COMPONENT, _COMPLETION, _SUBMISSION = 2, 3, 4, 5
_OPENS_MODAL = 9
_SLASH, _OF_USER, _OF_MESSAGE = 1, 2, 3
_STRINGS, _INPUT, _USERS, _CHANNELS = 3, 4, 5, 8

Json = dict[str, Any]


def select(
    discord: Discord,
    message: Message,
    name: str,
    chosen: Sequence[str | User | Channel],
    user: User,
) -> Interaction:
    """Choose from a menu of texts, users or channels that exists on the message."""
    now = discord.world.find_message(message.channel_id, message.id)
    if now is None:
        raise LookupError("the message is gone, and its menus with it")
    menu = find_part(now.components, name, (_STRINGS, _USERS, _CHANNELS), "menu")
    _check_choice(menu, chosen)
    channel = discord.world.channels[now.channel_id]
    data: Json = {
        "custom_id": menu["custom_id"],
        "component_type": menu["type"],
        "values": [one if isinstance(one, str) else str(one.id) for one in chosen],
    }
    if menu["type"] == _USERS:
        data["resolved"] = resolved(discord, channel, [x for x in chosen if isinstance(x, User)])
    elif menu["type"] == _CHANNELS:
        places = [one for one in chosen if isinstance(one, Channel)]
        data["resolved"] = {"channels": {str(x.id): _place(discord, x, user) for x in places}}
    return begin(discord, _COMPONENT, channel, user, data, message_id=now.id)


def _check_choice(menu: Json, chosen: Sequence[str | User | Channel]) -> None:
    least, most = menu.get("min_values"), menu.get("max_values")
    least, most = 1 if least is None else least, 1 if most is None else most
    if not least <= len(chosen) <= most:
        raise LookupError(f"the menu takes {least} to {most} values")
    kind = {_USERS: User, _CHANNELS: Channel}.get(menu["type"], str)
    offered = [one["value"] for one in menu.get("options") or ()]
    for one in chosen:
        if not isinstance(one, kind) or (kind is str and one not in offered):
            raise LookupError(f"the menu has no {one!r}; it has {', '.join(offered) or kind}")


def _place(discord: Discord, channel: Channel, user: User) -> Json:
    whole = shapes.channel(discord.world, channel)
    granted = permissions(discord.world, user.id, channel)
    kept = ("id", "name", "type", "parent_id", "thread_metadata")
    return {key: whole[key] for key in kept if key in whole} | {"permissions": str(int(granted))}


def submit(
    discord: Discord, opened: Interaction, texts: Mapping[str, str], user: User
) -> Interaction:
    """Fill in and submit the modal that the bot answered *opened* with."""
    if opened.callback_type != _OPENS_MODAL:
        raise LookupError("the bot did not answer with a modal")
    modal = opened.callback_data
    parts = modal.get("components") or []
    inputs = {one["custom_id"]: one for one in parts_of(parts) if one["type"] == _INPUT}
    if unknown := [name for name in texts if name not in inputs]:
        raise LookupError(f"the modal has no field {unknown[0]!r}; it has {', '.join(inputs)}")
    for name, one in inputs.items():
        _check_text(one, texts.get(name, one.get("value") or ""))
    data = {
        "custom_id": modal.get("custom_id"),
        "components": [_filled(one, texts) for one in parts],
    }
    channel = discord.world.channels[opened.channel_id]
    return begin(discord, _SUBMISSION, channel, user, data, message_id=opened.message_id)


def _check_text(one: Json, text: str) -> None:
    name, least, most = one["custom_id"], one.get("min_length") or 0, one.get("max_length") or 4_000
    if not text and one.get("required", True):
        raise LookupError(f"the field {name!r} must be filled in")
    if text and not least <= len(text) <= most:
        raise LookupError(f"the field {name!r} takes {least} to {most} characters")


def _filled(part: Json, texts: Mapping[str, str]) -> Json:
    """Return a part of a modal as it is sent back: its structure, with the entered values."""
    shown: Json = {key: part[key] for key in ("id", "type", "custom_id") if key in part}
    if part.get("type") == _INPUT:
        return {**shown, "value": texts.get(part["custom_id"], part.get("value") or "")}
    if "components" in part:
        shown["components"] = [_filled(one, texts) for one in part["components"]]
    if isinstance(part.get("component"), dict):
        shown["component"] = _filled(part["component"], texts)
    return shown


def complete(
    discord: Discord, name: str, option: str, text: str, channel: Channel, user: User
) -> Interaction:
    """Type into an option that the bot autocompletes; its choices are in the answer."""
    top, *path = name.split()
    found = find_command(discord, top, _SLASH, path)
    typed = {"name": option, "type": _STRINGS, "value": text, "focused": True}
    data = {
        "id": found["id"] if found else str(discord.world.new_id()),
        "name": top,
        "type": _SLASH,
        "options": nested(path, [typed]),
    }
    return begin(discord, _COMPLETION, channel, user, data)


def use_menu(
    discord: Discord, name: str, target: Message | User, channel: Channel, user: User
) -> Interaction:
    """Use a context menu command on a message or a user."""
    kind = _OF_MESSAGE if isinstance(target, Message) else _OF_USER
    found = find_command(discord, name, kind)
    if isinstance(target, Message):
        shape = shapes_message.message(discord.world, target)
        found_there: Json = {"messages": {str(target.id): shape}}
    else:
        found_there = resolved(discord, channel, [target])
    data = {
        "id": found["id"] if found else str(discord.world.new_id()),
        "name": name,
        "type": kind,
        "target_id": str(target.id),
        "resolved": found_there,
    }
    return begin(discord, _COMMAND, channel, user, data)
