"""Tables of the request bodies that Discord accepts, one for each request.

Sources: Discord's OpenAPI document and its developer documentation; where the two differ, what
clients send and Discord is known to accept.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from attrs import frozen

from minamo.twin.bodies.commands import CHANNEL_TYPES, CHOICE_NAME
from minamo.twin.bodies.components import COMPONENTS, MODAL
from minamo.twin.bodies.forms import (
    Address,
    Boolean,
    FieldType,
    List,
    Map,
    Number,
    Object,
    OneOf,
    Snowflake,
    Text,
    Timestamp,
    Union,
    Whole,
)
from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Invalid

_COLOR_MAX = 0xFFFFFF
_INT32_MAX = 2**31 - 1
_PAUSE_MAX_S = 21_600
_ARCHIVE_MIN = (60, 1_440, 4_320, 10_080)
_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


# Special kinds.


@frozen(kw_only=True)
class Nonce(FieldType):
    """Text or a number, returned unchanged."""

    def _convert(self, value: Any, rules: Rules, /) -> str | int:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise Invalid("NONCE_TYPE_CONVERT", f'Could not interpret "{value}" as nonce.')
        if len(str(value)) > rules.nonce_max:
            words = f"Must be {rules.nonce_max} or fewer in length."
            raise Invalid("BASE_TYPE_MAX_LENGTH", words)
        return value


@frozen(kw_only=True)
class ChoiceValue(FieldType):
    """The value of an autocompletion choice: text or a number, like the option's."""

    def _convert(self, value: Any, rules: Rules, /) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        return Text(most=6_000).read(value, rules)


@frozen(kw_only=True)
class ImageData(FieldType):
    """Image data as a data URI; stored as a hash."""

    def _convert(self, value: Any, rules: Rules, /) -> str:
        text = Text().read(value, rules)
        if not _IMAGE.fullmatch(text):
            raise Invalid("IMAGE_INVALID", "Invalid image data")
        return image_hash(text)


def image_hash(source: str) -> str:
    """Return a name such as Discord gives an image, made from its data or its URL."""
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
    texts += [field_[key] for field_ in embed.get("fields") or () for key in ("name", "value")]
    return sum(len(text) for text in texts if text)


def _check_mentions(allowed: dict[str, Any], _rules: Rules) -> None:
    for kind in ("users", "roles"):
        if kind in (allowed.get("parse") or ()) and allowed.get(kind):
            words = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            raise Invalid("MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", words)


def _stored(**fields: FieldType) -> Object:
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
        "timestamp": Timestamp(),
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
_EDIT: dict[str, FieldType] = {
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
    fields={"name": Text(checks=(_check_name,), required=True), "avatar": ImageData()}
)
EDIT_WEBHOOK = Object(
    fields={"name": _WEBHOOK_NAME, "avatar": ImageData(), "channel_id": Snowflake()}
)
EXECUTE_WEBHOOK = Object(
    fields={
        **_ANSWER.fields,
        "username": _WEBHOOK_NAME,
        "avatar_url": Address(),
        "thread_name": Text(most=100),
        "applied_tags": List(items=Snowflake(), most=5),
    }
)
_CHOICE = Object(fields={"name": CHOICE_NAME, "value": ChoiceValue(required=True)})
_AUTOCOMPLETE = Object(fields={"choices": List(items=_CHOICE, most=25)}, required=True)
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

_OVERWRITE: dict[str, FieldType] = {
    "type": Whole(among=(0, 1)),
    "allow": Whole(least=0),
    "deny": Whole(least=0),
}
PUT_OVERWRITE = Object(fields=_OVERWRITE)
_THREAD: dict[str, FieldType] = {
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
_CHANNEL_FIELDS: dict[str, FieldType] = {
    "type": Whole(among=CHANNEL_TYPES),
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
        "icon": ImageData(),
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
