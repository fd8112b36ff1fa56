"""What Discord accepts in the body of a message: lengths, trimming, embeds, components, files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from minamo.twin.refusals import Refused, bad_form, missing, too_long
from minamo.twin.rules import Rules
from minamo.twin.world import COMPONENTS_V2

_SURROGATES = re.compile("[\ud800-\udfff]")
_V2_TYPES = frozenset({9, 10, 11, 12, 13, 14, 17})
_ROW, _BUTTON, _TEXT, _LINK = 1, 2, 10, 5


def content(rules: Rules, value: object) -> str:
    """The text as Discord keeps it: invalid characters out, edges trimmed, then measured."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise bad_form("content", "BASE_TYPE_BAD_STRING", "Must be a string")
    text = _SURROGATES.sub("", str(value)).strip()
    if len(text) > rules.content_max:
        raise too_long("content", rules.content_max)
    return text


def embeds(rules: Rules, value: object) -> list[dict[str, Any]]:
    """The embeds with their texts trimmed, if each and all together keep the limits."""
    given = value if isinstance(value, list) else []
    if len(given) > rules.embeds_max:
        raise bad_form("embeds", "BASE_TYPE_MAX_LENGTH", f"Must be {rules.embeds_max} or fewer")
    total = 0
    kept = []
    for number, embed in enumerate(given):
        embed = _trimmed(embed)
        for path, text, limit in _texts(rules, embed):
            if len(text) > limit:
                raise too_long(f"embeds.{number}.{path}", limit)
            total += len(text)
        if len(embed.get("fields", ())) > rules.embed_fields_max:
            raise too_long(f"embeds.{number}.fields", rules.embed_fields_max)
        kept.append({"type": "rich", **embed})
    if total > rules.embed_total_max:
        words = f"Embed size exceeds maximum size of {rules.embed_total_max}"
        raise bad_form("embeds", "MAX_EMBED_SIZE_EXCEEDED", words)
    return kept


def _trimmed(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_trimmed(one) for one in value]
    if isinstance(value, dict):
        return {key: _trimmed(one) for key, one in value.items()}
    return value


def _texts(rules: Rules, embed: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    yield "title", embed.get("title") or "", rules.embed_title_max
    yield "description", embed.get("description") or "", rules.embed_description_max
    yield "footer.text", (embed.get("footer") or {}).get("text") or "", rules.embed_footer_max
    yield "author.name", (embed.get("author") or {}).get("name") or "", rules.embed_author_max
    for number, one in enumerate(embed.get("fields") or ()):
        for key, limit in (
            ("name", rules.embed_field_name_max),
            ("value", rules.embed_field_value_max),
        ):
            if not one.get(key):
                raise missing(f"fields.{number}.{key}")
            yield f"fields.{number}.{key}", one[key], limit


def nonce(rules: Rules, value: object) -> str | int | None:
    """A nonce: text or number, at most 25 characters."""
    if value is None:
        return None
    if not isinstance(value, str | int) or len(str(value)) > rules.nonce_max:
        raise too_long("nonce", rules.nonce_max)
    return value


def components(rules: Rules, value: object, flags: int) -> list[dict[str, Any]]:
    """The components, each with the integer id that Discord gives it."""
    given = value if isinstance(value, list) else []
    every = list(_walk(given))
    is_v2 = bool(flags & COMPONENTS_V2)
    if not is_v2 and any(one.get("type") in _V2_TYPES for one in every):
        raise bad_form("components", "COMPONENT_TYPE_INVALID", "Needs the IS_COMPONENTS_V2 flag")
    if is_v2:
        _check_v2(rules, every)
    elif len(given) > rules.action_rows_max:
        raise bad_form("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    _check_buttons(rules, every)
    for number, one in enumerate(every, start=1):
        one.setdefault("id", number)
    return given


def _walk(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in given:
        yield one
        yield from _walk(one.get("components") or [])
        if isinstance(one.get("accessory"), dict):
            yield one["accessory"]


def _check_v2(rules: Rules, every: list[dict[str, Any]]) -> None:
    if len(every) > rules.components_max:
        words = f"Must be {rules.components_max} or fewer in length."
        raise bad_form("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", words)
    texts = [str(one.get("content", "")) for one in every if one.get("type") == _TEXT]
    if sum(map(len, texts)) > rules.components_text_max:
        words = f"The total text may not exceed {rules.components_text_max} characters"
        raise bad_form("components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", words)
    if sum(len(text.encode("utf-8", "replace")) for text in texts) > rules.components_bytes_max:
        # Not a refusal but a crash of the real server: many non-ASCII characters are enough.
        raise ServerFault


class ServerFault(Exception):
    """The request makes the real Discord answer with HTTP 500."""


def _check_buttons(rules: Rules, every: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for one in every:
        if one.get("type") == _ROW and len(one.get("components") or ()) > rules.row_buttons_max:
            raise bad_form("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5")
        if one.get("type") == _BUTTON and one.get("style") != _LINK and not one.get("custom_id"):
            raise missing("components.custom_id")
        if custom_id := one.get("custom_id"):
            if custom_id in seen:
                words = "Component custom id cannot be duplicated"
                raise bad_form("components", "COMPONENT_CUSTOM_ID_DUPLICATED", words)
            if len(custom_id) > 100:
                raise too_long("components.custom_id", 100)
            seen.add(custom_id)
        if len(one.get("label") or "") > 80:
            raise too_long("components.label", 80)


def files(rules: Rules, uploads: list[tuple[str, bytes]]) -> None:
    """Number and size of the files."""
    if len(uploads) > rules.files_max:
        raise bad_form("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {rules.files_max} or fewer")
    if sum(len(data) for _, data in uploads) > rules.file_bytes_max:
        raise Refused(40005)


def webhook_name(rules: Rules, value: object, path: str = "name") -> str:
    """A name that a webhook may have or speak under."""
    name = str(value or "").strip()
    if not 1 <= len(name) <= rules.webhook_name_max:
        words = f"Must be between 1 and {rules.webhook_name_max} in length."
        raise bad_form(path, "BASE_TYPE_BAD_LENGTH", words)
    for word in rules.webhook_names_refused:
        if word in name.lower():
            words = f'Username cannot contain "{word}"'
            raise bad_form(path, "USERNAME_INVALID_CONTAINS", words)
    return name


def address(value: object, path: str) -> str | None:
    """A web address of something to show: nothing, or http(s)."""
    if value is None:
        return None
    parts = urlsplit(str(value))
    if not parts.scheme or not parts.netloc:
        raise bad_form(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    if parts.scheme not in ("http", "https"):
        words = (
            f"Scheme \"{parts.scheme}\" is not supported. Scheme must be one of ('http', 'https')."
        )
        raise bad_form(path, "URL_TYPE_INVALID_SCHEME", words)
    return str(value)


def image(value: object, path: str = "avatar") -> str | None:
    """An avatar: nothing, or image data as a data URI; the hash that stands for it."""
    if value is None:
        return None
    text = str(value)
    if not re.match(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$", text):
        raise bad_form(path, "IMAGE_INVALID", "Invalid image data")
    return hashlib.sha256(text.encode()).hexdigest()[:32]
