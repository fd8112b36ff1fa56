"""Actions of users: they write, reply, use commands and press buttons.

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
from minamo.twin.permissions import permissions
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.speaking import may_send, moderate
from minamo.twin.world import Channel, Interaction, Message, User, new_token

_COMMAND, _COMPONENT = 2, 3
_SLASH = 1
_SUBCOMMANDS = (1, 2)  # types of options: subcommand, subcommand group
_BUTTON = 2
_TYPES: tuple[tuple[type, int], ...] = ((bool, 5), (int, 4), (float, 10), (str, 3), (User, 6))


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
    body: dict[str, Any] = {"content": text}
    if reply_to is not None:
        body["message_reference"] = {"message_id": str(reply_to.id)}
    uploads = [Upload(str(number), name, data) for number, (name, data) in enumerate(files)]
    one = draft(discord, read_form(CREATE_MESSAGE, body, discord.rules), uploads)
    may_send(discord, user, channel, one)
    return post(discord, channel, user, one)


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
    data: dict[str, Any] = {
        "id": found["id"] if found else str(discord.world.new_id()),
        "name": top,
        "type": _SLASH,
        "options": nested(path, [_option(key, value) for key, value in options.items()]),
    }
    if people := [value for value in options.values() if isinstance(value, User)]:
        data["resolved"] = resolved(discord, channel, people)
    return begin(discord, _COMMAND, channel, user, data, user_installed=user_installed)


def find_command(
    discord: Discord, name: str, kind: int, path: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return a registered command, or None if the bot registered none at all."""
    known = [one for shelf in discord.world.commands.values() for one in shelf.values()]
    found = next((one for one in known if one["name"] == name and one["type"] == kind), None)
    if known and found is None:
        names = ", ".join(sorted({one["name"] for one in known if one["type"] == kind}))
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


def _subcommands(command: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    every = command.get("options") or ()
    return {one["name"]: one for one in every if one["type"] in _SUBCOMMANDS}


def nested(path: Sequence[str], options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the options of a subcommand, nested in it and in its group."""
    for depth, name in enumerate(reversed(path)):
        options = [{"name": name, "type": _SUBCOMMANDS[depth], "options": options}]
    return options


def resolved(discord: Discord, channel: Channel, people: Sequence[User]) -> dict[str, Any]:
    """Return the JSON of the users among the options, in a server with their memberships."""
    found: dict[str, Any] = {"users": {str(one.id): shapes.user(one) for one in people}}
    if channel.guild_id is not None:
        members = discord.world.guilds[channel.guild_id].members
        found["members"] = {
            str(one.id): {
                **shapes.partial_member(members[one.id]),
                "permissions": str(int(permissions(discord.world, one.id, channel))),
            }
            for one in people
            if one.id in members
        }
    return found


def _option(name: str, value: object) -> dict[str, Any]:
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


def find_part(
    components: list[dict[str, Any]], name: str, types: Sequence[int], kind: str
) -> dict[str, Any]:
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


def parts_of(components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the components that a user can operate, at any depth."""
    for one in components:
        if one.get("custom_id"):
            yield one
        yield from parts_of(one.get("components") or [])
        for key in ("accessory", "component"):
            if isinstance(one.get(key), dict):
                yield from parts_of([one[key]])


def begin(
    discord: Discord,
    kind: int,
    channel: Channel,
    user: User,
    data: dict[str, Any],
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
