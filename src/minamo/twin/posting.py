"""Writing, changing and deleting messages: the same rules for bots, webhooks and people."""

from __future__ import annotations

from mimetypes import guess_type
from typing import Any

from attrs import define, field

from minamo.twin import checks, mentions
from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, permissions
from minamo.twin.refusals import Refused, bad_form
from minamo.twin.world import (
    COMPONENTS_V2,
    EPHEMERAL,
    LOADING,
    SUPPRESS_EMBEDS,
    Channel,
    Message,
    User,
)

Uploads = list[tuple[str, bytes]]
_SETTABLE = SUPPRESS_EMBEDS | EPHEMERAL | COMPONENTS_V2 | (1 << 12)
_REPLY = 19
_NONCES_MAX = 50_000  # far more than are sent while one is remembered


@define(eq=False)
class Draft:
    """A message as somebody wants to send it, checked."""

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


def draft(discord: Discord, body: dict[str, Any], uploads: Uploads) -> Draft:
    """Read the body of a request, refusing what Discord refuses."""
    rules = discord.rules
    for name in ("poll", "sticker_ids"):
        if body.get(name):
            raise NotImplementedError(f"the twin has no {name}")
    flags = int(body.get("flags") or 0) & _SETTABLE
    mentions.check(body.get("allowed_mentions"))
    checks.files(rules, uploads)
    one = Draft(
        content=checks.content(rules, body.get("content")),
        embeds=checks.embeds(rules, body.get("embeds")),
        components=checks.components(rules, body.get("components"), flags),
        flags=flags,
        tts=bool(body.get("tts")),
        nonce=checks.nonce(rules, body.get("nonce")),
        enforce_nonce=bool(body.get("enforce_nonce")),
        uploads=uploads,
        allowed=body.get("allowed_mentions"),
        reference=body.get("message_reference") or {},
    )
    _whole(one.content, one.embeds, one.components, bool(uploads), flags)
    return one


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
    one: Draft,
    *,
    webhook_id: int | None = None,
    interaction_id: int | None = None,
) -> Message:
    """Put a checked message into the channel and tell everybody."""
    if repeated := _repeated(discord, channel, author, one):
        return repeated
    message = _written(discord, channel, author, one, webhook_id)
    message.webhook_id, message.interaction_id = webhook_id, interaction_id
    attach(discord, message, one.uploads)
    discord.world.messages.setdefault(channel.id, {})[message.id] = message
    if one.nonce is not None and webhook_id is None:
        _remember(discord, (author.id, channel.id, str(one.nonce)), message.id)
    if channel.archived:  # speaking in an archived thread opens it again
        channel.archived = False
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
    discord: Discord, channel: Channel, author: User, one: Draft, webhook_id: int | None
) -> Message:
    world = discord.world
    replied = _replied(discord, channel, author, one)
    granted = Permission.MENTION_EVERYONE
    if webhook_id is None:
        granted = permissions(world, author.id, channel)
    rings = mentions.pings(
        one.content,
        one.allowed,
        replied=replied.author.id if replied else None,
        may_everyone=bool(granted & Permission.MENTION_EVERYONE),
    )
    return Message(
        id=world.new_id(),
        channel_id=channel.id,
        author=author,
        content=one.content,
        created_at=discord.now(),
        nonce=one.nonce if webhook_id is None else None,
        type=_REPLY if replied else 0,
        flags=one.flags,
        tts=one.tts,
        embeds=one.embeds,
        components=one.components,
        reply_to=replied.id if replied else None,
        pinged=list(rings.users),
        pinged_roles=list(rings.roles),
        pinged_everyone=rings.everyone,
    )


def _repeated(discord: Discord, channel: Channel, author: User, one: Draft) -> Message | None:
    """The message that an enforced nonce already stands for."""
    if one.nonce is None or not one.enforce_nonce:
        return None
    known = discord.world.nonces.get((author.id, channel.id, str(one.nonce)))
    if known is None or discord.now() - known[1] > discord.rules.nonce_window_s:
        return None
    message = discord.world.find_message(channel.id, known[0])
    if message is None:  # written and deleted since: on purpose not written again
        raise Refused(10008)
    return message


def _replied(discord: Discord, channel: Channel, author: User, one: Draft) -> Message | None:
    if not one.reference.get("message_id"):
        return None
    granted = permissions(discord.world, author.id, channel)
    if not granted & Permission.READ_MESSAGE_HISTORY:
        raise Refused(160002)
    found = discord.world.find_message(channel.id, int(one.reference["message_id"]))
    if found is None and one.reference.get("fail_if_not_exists", True):
        raise bad_form("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return found


def attach(discord: Discord, message: Message, uploads: Uploads) -> None:
    """Keep the files; they can be fetched from the URLs given."""
    for name, data in uploads:
        place = f"{discord.origin}/cdn/attachments/{message.channel_id}/{message.id}/{name}"
        message.files[name] = data
        message.attachments.append(
            {
                "id": str(discord.world.new_id()),
                "filename": name,
                "size": len(data),
                # Discord goes by the name too; what it does not know it leaves out.
                **({"content_type": kind} if (kind := guess_type(name)[0]) else {}),
                "url": place,
                "proxy_url": place,
            }
        )


def change(discord: Discord, message: Message, body: dict[str, Any], uploads: Uploads) -> None:
    """Edit a message: what the body does not name stays."""
    rules = discord.rules
    flags = message.flags
    if body.get("flags") is not None:
        flags = (flags & ~SUPPRESS_EMBEDS) | (int(body["flags"]) & (_SETTABLE & ~EPHEMERAL))
    mentions.check(body.get("allowed_mentions"))
    checks.files(rules, uploads)
    text = checks.content(rules, body["content"]) if "content" in body else message.content
    embeds = checks.embeds(rules, body["embeds"]) if "embeds" in body else message.embeds
    parts = message.components
    if "components" in body:
        parts = checks.components(rules, body["components"], flags)
    kept = message.attachments
    if body.get("attachments") is not None:
        wanted = {str(one.get("id")) for one in body["attachments"]}
        kept = [one for one in kept if one["id"] in wanted]
    _whole(text, embeds, parts, bool(uploads or kept), flags)
    # Mentions are read again, with the defaults if the edit says nothing; no bell rings twice.
    rings = mentions.pings(text, body.get("allowed_mentions"))
    message.pinged = list(dict.fromkeys([*message.pinged, *rings.users]))
    message.pinged_roles = list(dict.fromkeys([*message.pinged_roles, *rings.roles]))
    message.pinged_everyone = message.pinged_everyone or rings.everyone
    message.content, message.embeds, message.components = text, embeds, parts
    message.attachments, message.flags = kept, flags & ~LOADING
    attach(discord, message, uploads)
    message.edited_at = discord.now()
    message.edits += 1
    discord.announce("MESSAGE_UPDATE", message)


def remove(discord: Discord, message: Message) -> None:
    """Delete a message and tell everybody."""
    discord.world.messages.get(message.channel_id, {}).pop(message.id, None)
    guild_id = discord.world.channels[message.channel_id].guild_id
    body = {"id": str(message.id), "channel_id": str(message.channel_id)}
    if guild_id is not None:
        body["guild_id"] = str(guild_id)
    discord.announce("MESSAGE_DELETE", message, body)
