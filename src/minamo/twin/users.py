"""Actions of users: they write, reply, use commands, press buttons, choose and fill in.

The bot's rules apply to them too; an action that Discord would refuse raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minamo.twin.bodies.forms import read_form
from minamo.twin.bodies.tables import CREATE_MESSAGE, EDIT_MESSAGE
from minamo.twin.bodies.uploads import Upload
from minamo.twin.discord import Discord
from minamo.twin.messages import change, draft, post, remove
from minamo.twin.permissions import may_send, moderate, permissions
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Channel, Interaction, Message, User, new_token

_COMMAND, _COMPONENT, _COMPLETION, _SUBMISSION = 2, 3, 4, 5
_OPENS_MODAL = 9
_SLASH, _OF_USER, _OF_MESSAGE = 1, 2, 3
_STRINGS, _INPUT, _USERS, _CHANNELS = 3, 4, 5, 8
_SUBCOMMANDS = (1, 2)  # types of options: subcommand, subcommand group
_BUTTON = 2
_TYPES: tuple[tuple[type, int], ...] = ((bool, 5), (int, 4), (float, 10), (str, 3), (User, 6))

Json = dict[str, Any]


def say(
    discord: Discord,
    text: str,
    channel: Channel,
    user: User,
    *,
    reply_to: Message | None = None,
    files: Sequence[tuple[str, bytes]] = (),
) -> Message:
    """Send a message; the gateway dispatches it to the bot."""
    body: Json = {"content": text}
    if reply_to is not None:
        body["message_reference"] = {"message_id": str(reply_to.id)}
    uploads = [Upload(str(number), name, data) for number, (name, data) in enumerate(files)]
    drafted = draft(discord, read_form(CREATE_MESSAGE, body, discord.rules), uploads)
    may_send(discord, user, channel, drafted)
    return post(discord, channel, user, drafted)


def edit(discord: Discord, message: Message, text: str) -> None:
    """Edit a message as its author."""
    form = read_form(EDIT_MESSAGE, {"content": text}, discord.rules)
    home = discord.world.channels[message.channel_id]
    moderate(discord, message.author, home, form["content"])
    change(discord, message, form, [])


def delete(discord: Discord, message: Message) -> None:
    """Delete a message, as its author or a moderator would."""
    remove(discord, message)


def slash(
    discord: Discord,
    name: str,
    options: Mapping[str, Any],
    channel: Channel,
    user: User,
    *,
    user_installed: bool = False,
) -> Interaction:
    """Use a slash command; *name* includes the subcommand, as in ``config set``.

    If the bot registered commands, *name* must be one of them. If it registered none, as in
    tests without a framework, any name is accepted.
    """
    top, *path = name.split()
    found = find_command(discord, top, _SLASH, path)
    data: Json = {
        "id": found["id"] if found else str(discord.world.new_id()),
        "name": top,
        "type": _SLASH,
        "options": nested(path, [_option(key, value) for key, value in options.items()]),
    }
    if people := [value for value in options.values() if isinstance(value, User)]:
        data["resolved"] = resolved(discord, channel, people)
    return begin(discord, _COMMAND, channel, user, data, user_installed=user_installed)


def find_command(discord: Discord, name: str, kind: int, path: Sequence[str] = ()) -> Json | None:
    """Return a registered command, or None if the bot registered none at all."""
    known = [command for shelf in discord.world.commands.values() for command in shelf.values()]
    found = next(
        (command for command in known if command["name"] == name and command["type"] == kind), None
    )
    if known and found is None:
        names = ", ".join(sorted({command["name"] for command in known if command["type"] == kind}))
        raise LookupError(f"the bot has no command {name!r}; it has {names or 'none of its kind'}")
    inner = found or {}
    for step in path if found else ():
        below = _subcommands(inner)
        if step not in below:
            raise LookupError(f"{name!r} has no subcommand {step!r}; it has {', '.join(below)}")
        inner = below[step]
    if below := _subcommands(inner):
        raise LookupError(f"{name!r} is used by its subcommands: {', '.join(below)}")
    return found


def _subcommands(command: Mapping[str, Any]) -> dict[str, Json]:
    every = command.get("options") or ()
    return {option["name"]: option for option in every if option["type"] in _SUBCOMMANDS}


def nested(path: Sequence[str], options: list[Json]) -> list[Json]:
    """Return the options of a subcommand, nested in it and in its group."""
    for depth, name in enumerate(reversed(path)):
        options = [{"name": name, "type": _SUBCOMMANDS[depth], "options": options}]
    return options


def resolved(discord: Discord, channel: Channel, people: Sequence[User]) -> Json:
    """Return the JSON of the users among the options, in a server with their memberships."""
    found: Json = {"users": {str(person.id): shapes.user(person) for person in people}}
    if channel.guild_id is not None:
        members = discord.world.guilds[channel.guild_id].members
        found["members"] = {
            str(person.id): {
                **shapes.partial_member(members[person.id]),
                "permissions": str(int(permissions(discord.world, person.id, channel))),
            }
            for person in people
            if person.id in members
        }
    return found


def _option(name: str, value: object) -> Json:
    for kind, number in _TYPES:
        if isinstance(value, kind):
            given = str(value.id) if isinstance(value, User) else value
            return {"name": name, "type": number, "value": given}
    raise TypeError(f"option {name!r}: a command takes text, numbers, booleans and users")


def click(discord: Discord, message: Message, name: str, user: User) -> Interaction:
    """Press a button that exists on the message and is not disabled."""
    now = discord.world.find_message(message.channel_id, message.id)
    if now is None:
        raise LookupError("the message is gone, and its buttons with it")
    button = find_part(now.components, name, (_BUTTON,), "button")
    data = {"custom_id": button["custom_id"], "component_type": button["type"]}
    channel = discord.world.channels[now.channel_id]
    return begin(discord, _COMPONENT, channel, user, data, message_id=now.id)


def find_part(components: list[Json], name: str, types: Sequence[int], kind: str) -> Json:
    """Return the component called *name*, if there is exactly one and it is not disabled.

    Its name is its custom id, or its label (a menu's placeholder), or a part of its custom id
    between colons, in this order.
    """
    parts = [part for part in parts_of(components) if part["type"] in types]
    for names in (_ids, _labels, _id_parts):
        found = [part for part in parts if name in names(part)]
        if len(found) == 1 and found[0].get("disabled"):
            raise LookupError(f"the {kind} {name!r} is disabled")
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(repr(part["custom_id"]) for part in found)
            raise LookupError(f"more than one {kind} is called {name!r}: {shown}")
    shown = ", ".join(repr(part["custom_id"]) for part in parts) or "none"
    raise LookupError(f"no {kind} {name!r} on this message; it has {shown}")


def _ids(part: Mapping[str, Any]) -> tuple[str, ...]:
    return (part["custom_id"],)


def _labels(part: Mapping[str, Any]) -> tuple[str | None, ...]:
    return (part.get("label"), part.get("placeholder"))


def _id_parts(part: Mapping[str, Any]) -> list[str]:
    return str(part["custom_id"]).split(":")


def parts_of(components: list[Json]) -> Iterator[Json]:
    """Yield the components that a user can operate, at any depth."""
    for component in components:
        if component.get("custom_id"):
            yield component
        yield from parts_of(component.get("components") or [])
        for key in ("accessory", "component"):
            if isinstance(component.get(key), dict):
                yield from parts_of([component[key]])


def begin(
    discord: Discord,
    kind: int,
    channel: Channel,
    user: User,
    data: Json,
    *,
    message_id: int | None = None,
    user_installed: bool = False,
) -> Interaction:
    """Create an interaction and send it to the bot, over the gateway or by HTTP."""
    made = Interaction(
        discord.world.new_id(),
        kind,
        channel.id,
        user.id,
        discord.now(),
        new_token(),
        data,
        message_id=message_id,
        user_installed=user_installed,
    )
    discord.world.interactions[made.id] = made
    shape = shapes_message.interaction(discord.world, made)
    if discord.endpoint is not None:
        discord.endpoint.deliver(made, shape)
    else:
        discord.gateway.dispatch("INTERACTION_CREATE", shape, guild_id=channel.guild_id)
    return made


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
        "values": [choice if isinstance(choice, str) else str(choice.id) for choice in chosen],
    }
    if menu["type"] == _USERS:
        data["resolved"] = resolved(
            discord, channel, [choice for choice in chosen if isinstance(choice, User)]
        )
    elif menu["type"] == _CHANNELS:
        places = [choice for choice in chosen if isinstance(choice, Channel)]
        data["resolved"] = {
            "channels": {str(place.id): _place(discord, place, user) for place in places}
        }
    return begin(discord, _COMPONENT, channel, user, data, message_id=now.id)


def _check_choice(menu: Json, chosen: Sequence[str | User | Channel]) -> None:
    least, most = menu.get("min_values"), menu.get("max_values")
    least, most = 1 if least is None else least, 1 if most is None else most
    if not least <= len(chosen) <= most:
        raise LookupError(f"the menu takes {least} to {most} values")
    kind = {_USERS: User, _CHANNELS: Channel}.get(menu["type"], str)
    offered = [option["value"] for option in menu.get("options") or ()]
    for choice in chosen:
        if not isinstance(choice, kind) or (kind is str and choice not in offered):
            raise LookupError(f"the menu has no {choice!r}; it has {', '.join(offered) or kind}")


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
    inputs = {part["custom_id"]: part for part in parts_of(parts) if part["type"] == _INPUT}
    if unknown := [name for name in texts if name not in inputs]:
        raise LookupError(f"the modal has no field {unknown[0]!r}; it has {', '.join(inputs)}")
    for name, part in inputs.items():
        _check_text(part, texts.get(name, part.get("value") or ""))
    data = {
        "custom_id": modal.get("custom_id"),
        "components": [_filled(part, texts) for part in parts],
    }
    channel = discord.world.channels[opened.channel_id]
    return begin(discord, _SUBMISSION, channel, user, data, message_id=opened.message_id)


def _check_text(part: Json, text: str) -> None:
    name, least, most = (
        part["custom_id"],
        part.get("min_length") or 0,
        part.get("max_length") or 4_000,
    )
    if not text and part.get("required", True):
        raise LookupError(f"the field {name!r} must be filled in")
    if text and not least <= len(text) <= most:
        raise LookupError(f"the field {name!r} takes {least} to {most} characters")


def _filled(part: Json, texts: Mapping[str, str]) -> Json:
    """Return a part of a modal as it is sent back: its structure, with the entered values."""
    shown: Json = {key: part[key] for key in ("id", "type", "custom_id") if key in part}
    if part.get("type") == _INPUT:
        return {**shown, "value": texts.get(part["custom_id"], part.get("value") or "")}
    if "components" in part:
        shown["components"] = [_filled(component, texts) for component in part["components"]]
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
