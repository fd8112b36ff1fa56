"""Routes of application commands and of interactions.

An interaction has a first answer, an original response, follow-ups, and two time limits.
"""

from __future__ import annotations

from typing import Any

from minamo.twin.bodies.commands import COMMAND, COMMANDS, EDIT_COMMAND
from minamo.twin.bodies.forms import read_form
from minamo.twin.bodies.tables import CALLBACK, EDIT_MESSAGE
from minamo.twin.bodies.uploads import Uploads
from minamo.twin.discord import Discord
from minamo.twin.messages import SLASH_ANSWER, Draft, change, draft, post, remove
from minamo.twin.permissions import Permission, permissions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.endpoint import Endpoint, EndpointFailure
from minamo.twin.server.refusals import Refused, bad_form, locked
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import EPHEMERAL, LOADING, Channel, Interaction, Message

_SLASH = 1
# Maximum number of commands of each type, globally and in each server.
_MOST = {_SLASH: 100, 2: 15, 3: 15, 4: 1}

Shelf = dict[int, dict[str, Any]]


def _shelf(call: RestCall) -> Shelf:
    if call.id("application") != call.discord.world.bot.id:
        raise Refused(10002)
    guild_id = call.guild().id if "guild" in call.params else 0
    return call.discord.world.commands.setdefault(guild_id, {})


def _register(
    call: RestCall, shelf: Shelf, given: dict[str, Any], command_id: int
) -> dict[str, Any]:
    guild_id = call.id("guild") if "guild" in call.params else 0
    made = shapes.command(call.discord.world, command_id, guild_id, given)
    count = sum(
        command["type"] == made["type"] for key, command in shelf.items() if key != command_id
    )
    if count >= _MOST[made["type"]]:
        raise Refused(30032)
    shelf[command_id] = made
    return made


def _same(shelf: Shelf, given: dict[str, Any]) -> int | None:
    """Return the id of the command with the same name and type, if any."""
    wanted = (given["name"], given.get("type") or _SLASH)
    return next(
        (key for key, command in shelf.items() if (command["name"], command["type"]) == wanted),
        None,
    )


def _list_commands(call: RestCall) -> Answer:
    return 200, list(_shelf(call).values())


def _create(call: RestCall) -> Answer:
    shelf, given = _shelf(call), call.fields
    same = _same(shelf, given)
    return 200 if same else 201, _register(call, shelf, given, same or call.discord.world.new_id())


def _replace(call: RestCall) -> Answer:
    shelf = _shelf(call)
    kept: Shelf = {}
    for given in call.form:
        _register(call, kept, given, _same(shelf, given) or call.discord.world.new_id())
    shelf.clear()
    shelf.update(kept)
    return 200, list(kept.values())


def _find_command(call: RestCall) -> dict[str, Any]:
    found = _shelf(call).get(call.id("command"))
    if found is None:
        raise Refused(10063)
    return found


def _get_command(call: RestCall) -> Answer:
    return 200, _find_command(call)


def _edit(call: RestCall) -> Answer:
    changed = {**_find_command(call), **call.fields}
    read_form(COMMAND, changed, call.discord.rules)
    return 200, _register(call, _shelf(call), changed, call.id("command"))


def _delete(call: RestCall) -> Answer:
    _find_command(call)
    del _shelf(call)[call.id("command")]
    return 204, None


def _routes(home: str) -> tuple[Route, ...]:
    return (
        Route("GET", home, _list_commands),
        Route("POST", home, _create, body=COMMAND),
        Route("PUT", home, _replace, body=COMMANDS),
        Route("GET", f"{home}/{{command}}", _get_command),
        Route("PATCH", f"{home}/{{command}}", _edit, body=EDIT_COMMAND),
        Route("DELETE", f"{home}/{{command}}", _delete),
    )


COMMAND_ROUTES = (
    *_routes("/applications/{application}/commands"),
    *_routes("/applications/{application}/guilds/{guild}/commands"),
)


_PONG, _SAY, _DEFER, _DEFER_UPDATE, _UPDATE, _COMPLETE, _MODAL, _LAUNCH = 1, 4, 5, 6, 7, 8, 9, 12
_PING, _COMMAND, _COMPONENT, _AUTOCOMPLETE, _SUBMIT = 1, 2, 3, 4, 5
# The types of interactions that each type of answer fits.
_FITTING = {
    _PONG: (_PING,),
    _SAY: (_COMMAND, _COMPONENT, _SUBMIT),
    _DEFER: (_COMMAND, _COMPONENT, _SUBMIT),
    _DEFER_UPDATE: (_COMPONENT, _SUBMIT),
    _UPDATE: (_COMPONENT, _SUBMIT),
    _COMPLETE: (_AUTOCOMPLETE,),
    _MODAL: (_COMMAND, _COMPONENT),
    _LAUNCH: (),  # like most applications, the twin has no activities
}


def _callback(call: RestCall) -> Answer:
    discord = call.discord
    interaction = discord.world.interactions.get(call.id("interaction"))
    if interaction is None or interaction.token != call.params["token"]:
        raise Refused(10062)
    message = answer(discord, interaction, call.raw, call.uploads)
    if not call.is_set("with_response"):
        return 204, None
    return 200, _response(call, interaction, message)


def answer(
    discord: Discord, interaction: Interaction, fields: dict[str, Any], uploads: Uploads
) -> Message | None:
    """Apply the first answer to an interaction, from callback or endpoint; return its message."""
    if interaction.is_answered:
        raise Refused(40060)
    if discord.now() - interaction.created_at > discord.rules.interaction_answer_s:
        raise Refused(10062)
    form = read_form(CALLBACK, fields, discord.rules)
    kind, data = form["type"], form.get("data") or {}
    if interaction.type not in _FITTING[kind]:
        words = "This answer does not fit the type of the interaction"
        raise bad_form("type", "INTERACTION_CALLBACK_TYPE_INVALID", words)
    _not_locked(discord, interaction)
    message = _first_answer(discord, interaction, kind, data, uploads)
    interaction.callback_type, interaction.callback_data = kind, fields.get("data") or {}
    interaction.original_id = message.id if message else None
    discord.journal.changed()
    return message


def _first_answer(
    discord: Discord, interaction: Interaction, kind: int, data: dict[str, Any], uploads: Uploads
) -> Message | None:
    channel = _home(discord, interaction)
    bot = discord.world.bot
    if kind in (_SAY, _DEFER):
        wanted = Draft(flags=LOADING | ((data.get("flags") or 0) & EPHEMERAL))
        if kind == _SAY:
            wanted = draft(discord, data, uploads, may_be_ephemeral=True)
        return post(
            discord,
            channel,
            bot,
            wanted,
            webhook_id=bot.id,
            interaction_id=interaction.id,
            type_=SLASH_ANSWER if interaction.type == _COMMAND else 0,
        )
    if kind in (_DEFER_UPDATE, _UPDATE):
        pressed = discord.world.find_message(interaction.channel_id, interaction.message_id or 0)
        if kind == _UPDATE and pressed is not None:
            change(discord, pressed, data, uploads)
        return pressed
    return None


def _response(call: RestCall, interaction: Interaction, message: Message | None) -> Any:
    kind = interaction.callback_type
    body: dict[str, Any] = {"interaction": {"id": str(interaction.id), "type": interaction.type}}
    if message is not None:
        body["interaction"] |= {
            "response_message_id": str(message.id),
            "response_message_loading": bool(message.flags & LOADING),
            "response_message_ephemeral": message.is_ephemeral,
        }
        shape = shapes_message.message(call.discord.world, message)
        body["resource"] = {"type": kind, "message": shape}
    else:
        body["resource"] = {"type": kind}
    return body


def _find(call: RestCall) -> Interaction:
    """Return the interaction of the token; refuse if it is expired or unanswered."""
    discord = call.discord
    for interaction in discord.world.interactions.values():
        if interaction.token == call.params["token"]:
            if discord.now() - interaction.created_at > discord.rules.interaction_token_s:
                raise Refused(50027)
            if not interaction.is_answered:
                raise Refused(10015)
            _not_locked(discord, interaction)
            return interaction
    raise Refused(50027)


def _home(discord: Discord, interaction: Interaction) -> Channel:
    """Return the channel of the interaction; refuse if it was deleted."""
    found = discord.world.channels.get(interaction.channel_id)
    if found is None:
        raise Refused(10003)
    return found


def _not_locked(discord: Discord, interaction: Interaction) -> None:
    """Refuse an answer in a thread locked meanwhile, with the code of an archived thread."""
    world = discord.world
    channel = _home(discord, interaction)
    may = permissions(world, world.bot.id, channel) & Permission.MANAGE_THREADS
    if channel.locked and not may:
        raise locked(archived=True)


def follow_up(call: RestCall) -> Answer:
    """Send a follow-up; right after a deferral it is the deferred answer itself."""
    interaction, discord = _find(call), call.discord
    limit = discord.rules.user_install_follow_ups_max
    if interaction.user_installed and len(interaction.follow_ups) >= limit:
        raise Refused(40094)
    original = discord.world.find_message(interaction.channel_id, interaction.original_id or 0)
    if original is not None and original.flags & LOADING:
        change(discord, original, call.fields, call.uploads)
        return 200, shapes_message.message(discord.world, original)
    channel, bot = _home(discord, interaction), discord.world.bot
    wanted = draft(discord, call.fields, call.uploads, may_be_ephemeral=True)
    message = post(
        discord,
        channel,
        bot,
        wanted,
        webhook_id=bot.id,
        interaction_id=interaction.id,
        reply_to=original.id if original else None,
    )
    interaction.follow_ups.append(message.id)
    return 200, shapes_message.message(discord.world, message)


def _message(call: RestCall) -> Message:
    interaction = _find(call)
    asked = call.params.get("message", "@original")
    message_id = interaction.original_id if asked == "@original" else call.id("message")
    known = message_id in (interaction.original_id, *interaction.follow_ups)
    found = call.discord.world.find_message(interaction.channel_id, message_id or 0)
    if found is None or not known:
        raise Refused(10008)
    return found


def get_message(call: RestCall) -> Answer:
    """Return the original response or a follow-up."""
    return 200, shapes_message.message(call.discord.world, _message(call))


def edit_message(call: RestCall) -> Answer:
    """Edit the original response or a follow-up."""
    message = _message(call)
    change(call.discord, message, call.fields, call.uploads)
    return 200, shapes_message.message(call.discord.world, message)


def delete_message(call: RestCall) -> Answer:
    """Delete the original response or a follow-up."""
    remove(call.discord, _message(call))
    return 204, None


_ORIGINAL = "/webhooks/{webhook}/{token}/messages/@original"


async def send_interactions_to(discord: Discord, url: str) -> None:
    """Ping *url*, and deliver interactions there from now on instead of over the gateway."""
    made = Endpoint(url, discord.signing, lambda used, body: answer(discord, used, body, []))
    try:
        await made.try_out()
    except EndpointFailure:
        await made.close()
        raise
    if discord.endpoint is not None:
        await discord.endpoint.close()
    discord.endpoint = made


ROUTES = (
    Route(
        "POST",
        "/interactions/{interaction}/{token}/callback",
        _callback,
        "interaction",
        CALLBACK,
        auth=False,
        limited=False,
    ),
    Route("GET", _ORIGINAL, get_message, "webhook.message", auth=False),
    Route("PATCH", _ORIGINAL, edit_message, "webhook.message", EDIT_MESSAGE, auth=False),
    Route("DELETE", _ORIGINAL, delete_message, "webhook.message", auth=False),
)
