"""Creation, edits and deletion of messages, and the users they notify; one set of rules for all.

Permission to send is checked in `permissions`.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import define, field, frozen

from minamo.twin.bodies.components import finish_components, shown_text
from minamo.twin.bodies.uploads import Uploads, attach, check_references, described
from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, permissions
from minamo.twin.server.refusals import Invalid, Refused, bad_form
from minamo.twin.shapes import message as shapes_message
from minamo.twin.world import (
    COMPONENTS_V2,
    EPHEMERAL,
    HAS_SNAPSHOT,
    LOADING,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    Channel,
    Forward,
    Message,
    User,
)

#: The flags that the sender of a message may set; an answer to an interaction may be ephemeral.
_SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2
_SETTABLE_BY_EDIT = SUPPRESS_EMBEDS | COMPONENTS_V2
_DEFAULT, _REPLY, SLASH_ANSWER = 0, 19, 20
_FORWARDABLE = (_DEFAULT, _REPLY, SLASH_ANSWER)
_FORWARD = 1
# The parts of an embed, each with the field it needs to be displayed.
_NEEDED = (("footer", "text"), ("author", "name"), ("image", "url"), ("thumbnail", "url"))
_NONCES_MAX = 50_000  # far more than are sent within `nonce_window_s`
# Discord features that the twin lacks: refused loudly, never ignored.
_MISSING_FEATURES = ("poll", "sticker_ids", "shared_client_theme")


@define(eq=False)
class Draft:
    """A checked message that its author wants to send."""

    content: str = ""
    embeds: list[dict[str, Any]] = field(factory=list)
    components: list[dict[str, Any]] = field(factory=list)
    flags: int = 0
    tts: bool = False
    nonce: str | int | None = None
    enforce_nonce: bool = False
    uploads: Uploads = field(factory=list)
    allowed: Any = None
    reference: dict[str, Any] = field(factory=dict)

    @property
    def text(self) -> str:
        """The text that AutoMod and mentions are applied to."""
        return self.content or shown_text(self.components)

    @property
    def is_forward(self) -> bool:
        """Whether it carries another message instead of content."""
        return self.reference.get("type") == _FORWARD


def draft(
    discord: Discord, body: dict[str, Any], uploads: Uploads, *, may_be_ephemeral: bool = False
) -> Draft:
    """Return a `Draft` after the checks across fields that the body's table cannot make."""
    _refuse_missing(body)
    settable = _SETTABLE | (EPHEMERAL if may_be_ephemeral else 0)
    draft = Draft(
        content=body.get("content") or "",
        embeds=[_shown_embed(embed) for embed in body.get("embeds") or ()],
        components=body.get("components") or [],
        flags=(body.get("flags") or 0) & settable,
        tts=bool(body.get("tts")),
        nonce=body.get("nonce"),
        enforce_nonce=bool(body.get("enforce_nonce")),
        uploads=described(discord.rules, uploads, body.get("attachments") or ()),
        allowed=body.get("allowed_mentions"),
        reference=body.get("message_reference") or {},
    )
    _finish(discord, draft.components, draft.flags, {upload.name for upload in draft.uploads})
    if draft.is_forward:
        if draft.content or draft.embeds or draft.components or draft.uploads:
            raise Refused(160011)
    else:
        _whole(draft.content, draft.embeds, draft.components, bool(draft.uploads), draft.flags)
    return draft


def _refuse_missing(body: dict[str, Any]) -> None:
    for name in _MISSING_FEATURES:
        if body.get(name):
            raise NotImplementedError(f"the twin has no {name}")


def _shown_embed(embed: dict[str, Any]) -> dict[str, Any]:
    """Return the embed without fields that only Discord sets and parts that display nothing."""
    shown = {key: value for key, value in embed.items() if key not in ("provider", "video")}
    for part, needed in _NEEDED:
        if part in shown and not shown[part].get(needed):
            del shown[part]
    for part in ("image", "thumbnail"):
        if part in shown:
            shown[part] = {"url": shown[part]["url"]}
    return {**shown, "type": "rich"}


def _finish(
    discord: Discord, components: list[dict[str, Any]], flags: int, names: set[str]
) -> None:
    try:
        is_v2 = bool(flags & COMPONENTS_V2)
        finish_components(discord.rules, components, is_v2=is_v2)
    except Invalid as problems:
        raise Refused(50035, errors={"components": problems.errors}) from None
    check_references(components, names)


def _whole(text: str, embeds: list[Any], parts: list[Any], files: bool, flags: int) -> None:
    if flags & COMPONENTS_V2 and (text or embeds):
        words = (
            "The 'content' and 'embeds' fields cannot be used with MessageFlags.IS_COMPONENTS_V2"
        )
        raise bad_form("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", words)
    if not (text or embeds or parts or files):
        raise Refused(50006)


def post(
    discord: Discord,
    channel: Channel,
    author: User,
    draft: Draft,
    *,
    webhook_id: int | None = None,
    interaction_id: int | None = None,
    type_: int = _DEFAULT,
    reply_to: int | None = None,
) -> Message:
    """Add a checked message to the channel and announce it; return an earlier duplicate."""
    if repeated := _repeated(discord, channel, author, draft):
        return repeated
    message = _written(discord, channel, author, draft, webhook_id)
    message.webhook_id, message.interaction_id = webhook_id, interaction_id
    if reply_to is not None:
        message.type, message.reply_to = _REPLY, reply_to
    elif type_ != _DEFAULT:
        message.type = type_
    attach(discord, message, draft.uploads)
    discord.world.messages.setdefault(channel.id, {})[message.id] = message
    channel.sent += 1
    channel.active_at = discord.now()
    if draft.nonce is not None and webhook_id is None:
        _remember(discord, (author.id, channel.id, str(draft.nonce)), message.id)
    if channel.archived:  # a message in an archived thread unarchives it
        channel.archive(False, discord.now())
        discord.announce_channel("THREAD_UPDATE", channel)
    channel.typing_until.pop(author.id, None)
    discord.announce("MESSAGE_CREATE", message)
    return message


def _remember(discord: Discord, key: tuple[int, int, str], message_id: int) -> None:
    nonces = discord.world.nonces
    if len(nonces) >= _NONCES_MAX:
        del nonces[next(iter(nonces))]
    nonces[key] = (message_id, discord.now())


def _written(
    discord: Discord, channel: Channel, author: User, draft: Draft, webhook_id: int | None
) -> Message:
    world = discord.world
    forward = _forwarded(discord, author, draft) if draft.is_forward else None
    replied = None if draft.is_forward else _replied(discord, channel, author, draft)
    message = Message(
        id=world.new_id(),
        channel_id=channel.id,
        author=author,
        content=draft.content,
        created_at=discord.now(),
        nonce=draft.nonce if webhook_id is None else None,
        type=_REPLY if replied else _DEFAULT,
        flags=draft.flags | (HAS_SNAPSHOT if forward else 0),
        tts=draft.tts,
        embeds=draft.embeds,
        components=draft.components,
        reply_to=replied.id if replied else None,
        forward=forward,
        webhook_id=webhook_id,
    )
    _mention(discord, message, draft.allowed, replied=replied)
    _ring(message)
    return message


def _mention(
    discord: Discord, message: Message, allowed: Any, *, replied: Message | None = None
) -> None:
    """Recompute the users, roles and `@everyone` that the message mentions."""
    may_everyone = True
    if message.webhook_id is None:
        channel = discord.world.channels[message.channel_id]
        granted = permissions(discord.world, message.author.id, channel)
        may_everyone = bool(granted & Permission.MENTION_EVERYONE)
    elif allowed is None:
        allowed = USERS_ONLY
    found = pings(
        message.content or shown_text(message.components),
        allowed,
        replied=replied.author.id if replied else None,
        may_everyone=may_everyone,
    )
    message.mentions, message.mention_roles = list(found.users), list(found.roles)
    message.mention_everyone = found.everyone


def _ring(message: Message) -> None:
    message.pinged, message.pinged_roles = list(message.mentions), list(message.mention_roles)
    message.pinged_everyone = message.mention_everyone


def _repeated(discord: Discord, channel: Channel, author: User, draft: Draft) -> Message | None:
    """Return the message that was already sent with this enforced nonce, if any."""
    if draft.nonce is None or not draft.enforce_nonce:
        return None
    known = discord.world.nonces.get((author.id, channel.id, str(draft.nonce)))
    if known is None or discord.now() - known[1] > discord.rules.nonce_window_s:
        return None
    message = discord.world.find_message(channel.id, known[0])
    if message is None:  # sent and deleted since: deliberately not sent again
        raise Refused(10008)
    return message


def _replied(discord: Discord, channel: Channel, author: User, draft: Draft) -> Message | None:
    if not draft.reference.get("message_id"):
        return None
    granted = permissions(discord.world, author.id, channel)
    if not granted & Permission.READ_MESSAGE_HISTORY:
        raise Refused(160002)
    found = discord.world.find_message(channel.id, int(draft.reference["message_id"]))
    must_exist = draft.reference.get("fail_if_not_exists")
    if found is None and (must_exist is None or must_exist):
        raise bad_form("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return found


def _forwarded(discord: Discord, author: User, draft: Draft) -> Forward:
    """Return the forwarded message with a snapshot of its current state."""
    if draft.reference.get("channel_id") is None:
        path = "message_reference.channel_id"
        raise bad_form(path, "BASE_TYPE_REQUIRED", "This field is required")
    home = discord.world.channels.get(int(draft.reference["channel_id"]))
    needed = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY
    if home is None or permissions(discord.world, author.id, home) & needed != needed:
        raise Refused(160014)
    found = discord.world.find_message(home.id, int(draft.reference["message_id"]))
    if found is None or found.is_ephemeral or found.type not in _FORWARDABLE:
        raise Refused(160008)
    snapshot = shapes_message.snapshot(discord.world, found)
    return Forward(found.id, home.id, home.guild_id, snapshot)


def change(discord: Discord, message: Message, body: dict[str, Any], uploads: Uploads) -> None:
    """Edit a message; fields absent from the body keep their values."""
    _refuse_missing(body)
    flags = message.flags
    if body.get("flags") is not None:
        flags = (flags & ~SUPPRESS_EMBEDS) | (body["flags"] & _SETTABLE_BY_EDIT)
    text = (body["content"] or "") if "content" in body else message.content
    embeds, parts, kept = message.embeds, message.components, message.attachments
    if "embeds" in body:
        embeds = [_shown_embed(embed) for embed in body["embeds"] or ()]
    listed = body.get("attachments")
    added = described(discord.rules, uploads, listed or ())
    if listed is not None:
        kept = _kept_attachments(kept, listed)
    if "components" in body:
        parts = body["components"] or []
        names = {upload.name for upload in added} | {attachment["filename"] for attachment in kept}
        _finish(discord, parts, flags, names)
    _whole(text, embeds, parts, bool(added or kept), flags)
    message.content, message.embeds, message.components = text, embeds, parts
    message.keep(kept)
    was_loading = bool(message.flags & LOADING)
    message.flags = flags & ~LOADING
    # Mentions are recomputed only if the text changes, with the defaults if the edit has no
    # `allowed_mentions`. An edit notifies no users, but the first text of a deferred answer does.
    if "content" in body or ("components" in body and flags & COMPONENTS_V2):
        replied = discord.world.find_message(message.channel_id, message.reply_to or 0)
        _mention(discord, message, body.get("allowed_mentions"), replied=replied)
        if was_loading:
            _ring(message)
    attach(discord, message, added)
    message.edited_at = discord.now()
    message.edits += 1
    discord.announce("MESSAGE_UPDATE", message)


def _kept_attachments(
    attachments: list[dict[str, Any]], listed: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    by_id = {attachment["id"]: attachment for attachment in listed}
    kept = []
    for attachment in attachments:
        if attachment["id"] in by_id:
            description = by_id[attachment["id"]].get("description")
            kept.append(
                attachment if description is None else {**attachment, "description": description}
            )
    return kept


def remove(discord: Discord, message: Message) -> None:
    """Delete a message and announce it."""
    discord.world.messages.get(message.channel_id, {}).pop(message.id, None)
    body = {"id": str(message.id), "channel_id": str(message.channel_id)}
    discord.announce("MESSAGE_DELETE", message, body)


def remove_many(discord: Discord, channel: Channel, messages: list[Message]) -> None:
    """Delete messages of one channel and announce them in one event."""
    for message in messages:
        discord.world.messages.get(channel.id, {}).pop(message.id, None)
    body: dict[str, Any] = {
        "ids": [str(message.id) for message in messages],
        "channel_id": str(channel.id),
    }
    if channel.guild_id is not None:
        body["guild_id"] = str(channel.guild_id)
    discord.gateway.dispatch("MESSAGE_DELETE_BULK", body, guild_id=channel.guild_id)


_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)  # mentions in code do not notify
_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
#: The default `allowed_mentions` of webhooks and interactions; elsewhere all mentions notify.
USERS_ONLY = {"parse": ["users"]}


@frozen
class Pings:
    """The users and roles that a message notifies."""

    users: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()
    everyone: bool = False


def pings(
    text: str, allowed: Any, *, replied: int | None = None, may_everyone: bool = True
) -> Pings:
    """Return the users and roles notified by *text*, and by a reply to *replied*.

    Without `allowed_mentions` every mention in the text notifies, and so does a reply; with it
    only those it names. Without *may_everyone*, `@everyone` and roles are not notified.
    """
    bare = _CODE.sub("", text)
    users = [int(fromkey) for fromkey in dict.fromkeys(_USER.findall(bare))]
    roles = [int(fromkey) for fromkey in dict.fromkeys(_ROLE.findall(bare))]
    everyone = bool(_EVERYONE.search(bare))
    rings_author = True
    if isinstance(allowed, dict):
        parse = allowed.get("parse") or ()
        users = _kept(users, "users" in parse, allowed.get("users"))
        roles = _kept(roles, "roles" in parse, allowed.get("roles"))
        everyone = everyone and "everyone" in parse
        rings_author = bool(allowed.get("replied_user"))
    if replied is not None and rings_author and replied not in users:
        users.append(replied)
    return Pings(tuple(users), tuple(roles) if may_everyone else (), everyone and may_everyone)


def _kept(found: list[int], all_of_them: bool, listed: Any) -> list[int]:
    if all_of_them:
        return found
    wanted = {int(snowflake) for snowflake in listed or ()}
    return [snowflake for snowflake in found if snowflake in wanted]
