"""The bodies that Discord takes, one table for each request.

Sources: Discord's OpenAPI document and its developer documentation; where the two differ, what
clients send and Discord is known to accept.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from attrs import frozen

from minamo.twin.bodies_components import COMPONENTS, MODAL
from minamo.twin.forms import (
    Address,
    Boolean,
    Kind,
    List,
    Map,
    Moment,
    Number,
    Object,
    OneOf,
    Snowflake,
    Text,
    Union,
    Whole,
)
from minamo.twin.refusals import Invalid
from minamo.twin.rules import Rules

_COLOR_MAX = 0xFFFFFF
_INT32_MAX = 2**31 - 1
_PAUSE_MAX_S = 21_600
_PERMISSIONS_MAX = 2**54 - 1
_ARCHIVE_MIN = (60, 1_440, 4_320, 10_080)
_CHANNEL_TYPES = (0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15)
_SUB_COMMAND, _SUB_COMMAND_GROUP, _STRING, _INTEGER, _CHANNEL, _NUMBER = 1, 2, 3, 4, 7, 10
_SLASH = 1
_OPTION_TYPES = range(1, 12)
_NAME = r"[-_'\w]{1,32}"  # and no upper case
_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


# Special kinds.


@frozen(kw_only=True)
class Nonce(Kind):
    """Text or a number, returned as it was given."""

    def _convert(self, value: Any, rules: Rules, /) -> str | int:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise Invalid("NONCE_TYPE_CONVERT", f'Could not interpret "{value}" as nonce.')
        if len(str(value)) > rules.nonce_max:
            words = f"Must be {rules.nonce_max} or fewer in length."
            raise Invalid("BASE_TYPE_MAX_LENGTH", words)
        return value


@frozen(kw_only=True)
class Image(Kind):
    """Image data as a data URI; kept as the hash that stands for it."""

    def _convert(self, value: Any, rules: Rules, /) -> str:
        text = Text().read(value, rules)
        if not _IMAGE.fullmatch(text):
            raise Invalid("IMAGE_INVALID", "Invalid image data")
        return image_hash(text)


def image_hash(source: str) -> str:
    """Return a name such as Discord gives an image, made from its data or its address."""
    return hashlib.sha256(source.encode()).hexdigest()[:32]


# Messages.


def _check_embed(embed: dict[str, Any], _rules: Rules) -> None:
    shown = ("title", "description", "fields", "image", "thumbnail")
    has_text = (embed.get("footer") or {}).get("text") or (embed.get("author") or {}).get("name")
    if not has_text and not any(embed.get(name) for name in shown):
        raise Invalid("BASE_TYPE_REQUIRED", "This field is required", at="description")


def _check_embeds(embeds: list[dict[str, Any]], rules: Rules) -> None:
    if sum(map(_embed_size, embeds)) > rules.embed_total_max:
        words = f"Embed size exceeds maximum size of {rules.embed_total_max}"
        raise Invalid("MAX_EMBED_SIZE_EXCEEDED", words)


def _embed_size(embed: dict[str, Any]) -> int:
    texts = [embed.get("title"), embed.get("description")]
    texts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
    texts += [one[key] for one in embed.get("fields") or () for key in ("name", "value")]
    return sum(len(text) for text in texts if text)


def _check_mentions(allowed: dict[str, Any], _rules: Rules) -> None:
    for kind in ("users", "roles"):
        if kind in (allowed.get("parse") or ()) and allowed.get(kind):
            words = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            raise Invalid("MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", words)


def _stored(**fields: Kind) -> Object:
    return Object(fields=fields, keeps_null=False)


_ICON = Address(schemes=("http", "https", "attachment"))
_PICTURE = _stored(
    url=_ICON,
    width=Whole(),
    height=Whole(),
    placeholder=Text(most=64),
    placeholder_version=Whole(least=0, most=_INT32_MAX),
    is_animated=Boolean(),
    description=Text(most=4_096),
)
_EMBED = Object(
    fields={
        "type": Text(),
        "url": Address(),
        "title": Text(most="embed_title_max"),
        "color": Whole(least=0, most=_COLOR_MAX),
        "timestamp": Moment(),
        "description": Text(most="embed_description_max"),
        "author": _stored(name=Text(most="embed_author_max"), url=Address(), icon_url=_ICON),
        "image": _PICTURE,
        "thumbnail": _PICTURE,
        "footer": _stored(text=Text(most="embed_footer_max"), icon_url=_ICON),
        "fields": List(
            items=_stored(
                name=Text(least=1, most="embed_field_name_max", required=True),
                value=Text(least=1, most="embed_field_value_max", required=True),
                inline=Boolean(default=False),
            ),
            most="embed_fields_max",
        ),
        "provider": _stored(name=Text(most=256), url=Address()),
        "video": _PICTURE,
    },
    keeps_null=False,
    checks=(_check_embed,),
)
_EMBEDS = List(items=_EMBED, most="embeds_max", checks=(_check_embeds,))
_ALLOWED_MENTIONS = Object(
    fields={
        "parse": List(items=OneOf(words=("users", "roles", "everyone")), unique=True),
        "users": List(items=Snowflake(), most=100, unique=True),
        "roles": List(items=Snowflake(), most=100, unique=True),
        "replied_user": Boolean(),
    },
    checks=(_check_mentions,),
)
_ATTACHMENT = Object(
    fields={
        "id": Snowflake(required=True),
        "filename": Text(least=1, most=1_024),
        "description": Text(most=1_024),
        "duration_secs": Number(),
        "waveform": Text(most=400),
        "title": Text(most=1_024),
        "is_spoiler": Boolean(),
        "is_remix": Boolean(),
    }
)
_POLL_TEXT = Object(fields={"text": Text(least=1, most=300), "emoji": Object()}, required=True)
_POLL = Object(
    fields={
        "question": _POLL_TEXT,
        "answers": List(
            items=Object(fields={"poll_media": _POLL_TEXT}), least=1, most=10, required=True
        ),
        "allow_multiselect": Boolean(),
        "layout_type": Whole(among=(1,)),
        "duration": Whole(least=1, most=768),
    }
)
_THEME = Object(
    fields={
        "colors": List(items=Text(least=6, most=6), least=1, most=5, required=True),
        "gradient_angle": Whole(least=0, most=360, required=True),
        "base_mix": Whole(least=0, most=100, required=True),
        "base_theme": Whole(among=(0, 1, 2, 3, 4)),
    }
)
_EDIT: dict[str, Kind] = {
    "content": Text(most="content_max"),
    "embeds": _EMBEDS,
    "allowed_mentions": _ALLOWED_MENTIONS,
    "components": COMPONENTS,
    "attachments": List(items=_ATTACHMENT, most="files_max"),
    "flags": Whole(),
    "poll": _POLL,
    "sticker_ids": List(items=Snowflake(), most=3),
}
EDIT_MESSAGE = Object(fields=_EDIT)
_ANSWER = Object(fields={**_EDIT, "tts": Boolean()})
CREATE_MESSAGE = Object(
    fields={
        **_EDIT,
        "tts": Boolean(),
        "nonce": Nonce(),
        "enforce_nonce": Boolean(),
        "shared_client_theme": _THEME,
        "message_reference": Object(
            fields={
                "type": Whole(among=(0, 1)),
                "message_id": Snowflake(required=True),
                "channel_id": Snowflake(),
                "guild_id": Snowflake(),
                "fail_if_not_exists": Boolean(),
            }
        ),
    }
)
BULK_DELETE = Object(
    fields={"messages": List(items=Snowflake(), least=2, most=100, unique=True, required=True)}
)


# Webhooks and interactions.


def _check_name(name: str, rules: Rules) -> None:
    if not 1 <= len(name) <= rules.webhook_name_max:
        words = f"Must be between 1 and {rules.webhook_name_max} in length."
        raise Invalid("BASE_TYPE_BAD_LENGTH", words)
    for word in rules.webhook_names_refused:
        if word in name.lower():
            raise Invalid("USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')


_WEBHOOK_NAME = Text(checks=(_check_name,))
CREATE_WEBHOOK = Object(
    fields={"name": Text(checks=(_check_name,), required=True), "avatar": Image()}
)
EDIT_WEBHOOK = Object(fields={"name": _WEBHOOK_NAME, "avatar": Image(), "channel_id": Snowflake()})
EXECUTE_WEBHOOK = Object(
    fields={
        **_ANSWER.fields,
        "username": _WEBHOOK_NAME,
        "avatar_url": Address(),
        "thread_name": Text(most=100),
        "applied_tags": List(items=Snowflake(), most=5),
    }
)
_CHOICE_NAME = Text(least=1, most=100, required=True)
_CHOICES = {
    _STRING: Text(most=6_000, required=True),
    _INTEGER: Whole(least=-(2**53) + 1, most=2**53 - 1, required=True),
    _NUMBER: Number(required=True),
}
_AUTOCOMPLETE = Object(
    fields={"choices": List(items=Object(fields={"name": _CHOICE_NAME}), most=25)}, required=True
)
CALLBACK = Union(
    tables={
        1: Object(),
        4: Object(fields={"data": _ANSWER}),
        5: Object(fields={"data": Object(fields={"flags": Whole()})}),
        6: Object(),
        7: Object(fields={"data": EDIT_MESSAGE}),
        8: Object(fields={"data": _AUTOCOMPLETE}),
        9: Object(fields={"data": Object(fields=MODAL.fields, required=True)}),
        12: Object(),
    }
)


# Channels and threads.

_OVERWRITE: dict[str, Kind] = {
    "type": Whole(among=(0, 1)),
    "allow": Whole(least=0),
    "deny": Whole(least=0),
}
PUT_OVERWRITE = Object(fields=_OVERWRITE)
_THREAD: dict[str, Kind] = {
    "name": Text(least=1, most=100, required=True),
    "auto_archive_duration": Whole(among=_ARCHIVE_MIN),
    "rate_limit_per_user": Whole(least=0, most=_PAUSE_MAX_S),
}
THREAD_FROM_MESSAGE = Object(fields=_THREAD)
THREAD = Object(
    fields={
        **_THREAD,
        "type": Whole(among=(10, 11, 12)),
        "invitable": Boolean(),
        "applied_tags": List(items=Snowflake(), most=5),
        "message": EDIT_MESSAGE,
    }
)
_TAG = Object(
    fields={
        "id": Snowflake(),
        "name": Text(most=50, required=True),
        "emoji_id": Snowflake(),
        "emoji_name": Text(most=100),
        "moderated": Boolean(),
    }
)
_CHANNEL_FIELDS: dict[str, Kind] = {
    "type": Whole(among=_CHANNEL_TYPES),
    "position": Whole(least=0, most=_INT32_MAX),
    "topic": Text(most=4_096),
    "bitrate": Whole(least=8_000, most=_INT32_MAX),
    "user_limit": Whole(least=0, most=99),
    "nsfw": Boolean(),
    "rate_limit_per_user": Whole(least=0, most=_PAUSE_MAX_S),
    "parent_id": Snowflake(),
    "permission_overwrites": List(
        items=Object(fields={"id": Snowflake(required=True), **_OVERWRITE}), most=100
    ),
    "rtc_region": Text(),
    "video_quality_mode": Whole(among=(1, 2)),
    "default_auto_archive_duration": Whole(among=_ARCHIVE_MIN),
    "default_reaction_emoji": Object(
        fields={"emoji_id": Snowflake(), "emoji_name": Text(most=100)}
    ),
    "default_thread_rate_limit_per_user": Whole(least=0, most=_PAUSE_MAX_S),
    "default_sort_order": Whole(among=(0, 1)),
    "default_forum_layout": Whole(among=(0, 1, 2)),
    "default_tag_setting": OneOf(words=("match_all", "match_some")),
    "available_tags": List(items=_TAG, most=20),
}
CREATE_CHANNEL = Object(fields={"name": Text(least=1, most=100, required=True), **_CHANNEL_FIELDS})
EDIT_CHANNEL = Object(
    fields={
        "name": Text(least=1, most=100),
        **_CHANNEL_FIELDS,
        "icon": Image(),
        "flags": Whole(),
        "archived": Boolean(),
        "locked": Boolean(),
        "invitable": Boolean(),
        "auto_archive_duration": Whole(among=_ARCHIVE_MIN),
        "applied_tags": List(items=Snowflake(), most=5),
    }
)
OPEN_DM = Object(
    fields={
        "recipient_id": Snowflake(),
        "access_tokens": List(items=Text()),
        "nicks": Map(values=Text()),
    }
)


# Application commands.


def _check_lower(name: str, _rules: Rules) -> None:
    if name != name.lower():
        words = "Command name is invalid"
        raise Invalid("APPLICATION_COMMAND_INVALID_NAME", words)


def _check_options(options: list[dict[str, Any]], _rules: Rules) -> None:
    names = [one["name"] for one in options]
    if len(set(names)) < len(names):
        raise Invalid("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "The name is taken")
    groups = [one["type"] in (_SUB_COMMAND, _SUB_COMMAND_GROUP) for one in options]
    if any(groups) and not all(groups):
        words = "Sub-commands and sub-command groups cannot be mixed with other options"
        raise Invalid("APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", words)
    needed = [bool(one.get("required")) for one in options]
    if needed != sorted(needed, reverse=True):
        words = "Required options must be placed before non-required options"
        raise Invalid("APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", words)


def _check_command(command: dict[str, Any], rules: Rules) -> None:
    if (command.get("type") or _SLASH) == _SLASH:
        name = Text(pattern=_NAME, checks=(_check_lower,))
        texts = {"name": name, "description": Text(least=1, most=100)}
    else:
        texts = {"description": Text(most=0)}
    problems = Invalid()
    for key, kind in texts.items():
        with problems.of(key):
            kind.read(command.get(key) or "", rules)
    problems.raise_if_any()


def _options(*types: int, inner: Kind | None = None) -> List:
    return List(
        items=Union(tables={kind: _option(kind, inner) for kind in types}),
        most=25,
        checks=(_check_options,),
    )


def _option(kind: int, inner: Kind | None) -> Object:
    fields: dict[str, Kind] = {
        "name": Text(pattern=_NAME, checks=(_check_lower,), required=True, least=1, most=32),
        "name_localizations": Map(values=Text(least=1, most=32)),
        "description": Text(least=1, most=100, required=True),
        "description_localizations": Map(values=Text(least=1, most=100)),
        "required": Boolean(),
    }
    if kind in _CHOICES:
        choice = {"name": _CHOICE_NAME, "name_localizations": Map(values=Text(least=1, most=100))}
        choices = List(items=_stored(**choice, value=_CHOICES[kind]), most=25)
        fields |= {"autocomplete": Boolean(), "choices": choices}
    if kind == _STRING:
        fields |= {
            "min_length": Whole(least=0, most=6_000),
            "max_length": Whole(least=1, most=6_000),
        }
    if kind in (_INTEGER, _NUMBER):
        bound = Number() if kind == _NUMBER else Whole(least=-(2**53) + 1, most=2**53 - 1)
        fields |= {"min_value": bound, "max_value": bound}
    if kind == _CHANNEL:
        fields["channel_types"] = List(items=Whole(among=_CHANNEL_TYPES), unique=True)
    if inner is not None:
        fields["options"] = inner
    return Object(fields=fields, keeps_null=False)


_PLAIN = _options(*_OPTION_TYPES[2:])
_GROUPED = _options(_SUB_COMMAND, inner=_PLAIN)
_OPTIONS = List(
    items=Union(
        tables={
            _SUB_COMMAND: _option(_SUB_COMMAND, _PLAIN),
            _SUB_COMMAND_GROUP: _option(_SUB_COMMAND_GROUP, _GROUPED),
            **{kind: _option(kind, None) for kind in _OPTION_TYPES[2:]},
        }
    ),
    most=25,
    checks=(_check_options,),
)
_COMMAND: dict[str, Kind] = {
    "name": Text(least=1, most=32, required=True),
    "name_localizations": Map(values=Text(least=1, most=32)),
    "description": Text(most=100),
    "description_localizations": Map(values=Text(least=1, most=100)),
    "options": _OPTIONS,
    "default_member_permissions": Whole(least=0, most=_PERMISSIONS_MAX),
    "dm_permission": Boolean(),
    "default_permission": Boolean(),
    "nsfw": Boolean(),
    "contexts": List(items=Whole(among=(0, 1, 2)), least=1, most=3, unique=True),
    "integration_types": List(items=Whole(among=(0, 1)), least=1, most=2, unique=True),
    "handler": Whole(among=(1, 2)),
    "type": Whole(among=(1, 2, 3, 4)),
}
COMMAND = Object(fields=_COMMAND, checks=(_check_command,))
EDIT_COMMAND = Object(fields={**_COMMAND, "name": Text(least=1, most=32)})
COMMANDS = List(items=Object(fields={**_COMMAND, "id": Snowflake()}, checks=(_check_command,)))
