"""The body of an HTTP request: JSON, a web form, or multipart with files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from mimetypes import guess_type
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web
from attrs import evolve, field, frozen

from minamo.twin.bodies.components import FILE, walk
from minamo.twin.discord import Discord
from minamo.twin.journal import HIDDEN
from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Refused, bad_form
from minamo.twin.world import Message

Json = dict[str, Any]
_SCHEME = "attachment://"


@frozen
class Upload:
    """An uploaded file; *key* is the n of its part `files[n]`."""

    key: str
    name: str
    data: bytes = field(repr=False)
    description: str | None = None


Uploads = list[Upload]


def described(rules: Rules, uploads: Uploads, attachments: Iterable[Json]) -> Uploads:
    """Return the files with the names and descriptions that the body's `attachments` give."""
    if len(uploads) > rules.files_max:
        words = f"Must be {rules.files_max} or fewer in length."
        raise bad_form("attachments", "BASE_TYPE_MAX_LENGTH", words)
    if any(len(upload.data) > rules.file_bytes_max for upload in uploads):
        raise Refused(40005)
    fields = {attachment["id"]: attachment for attachment in attachments}
    return [
        evolve(
            upload,
            name=fields.get(upload.key, {}).get("filename") or upload.name,
            description=fields.get(upload.key, {}).get("description"),
        )
        for upload in uploads
    ]


def attach(discord: Discord, message: Message, uploads: Uploads) -> None:
    """Store the files under URLs that the twin serves, then resolve the references to them."""
    for upload in uploads:
        key = str(discord.world.new_id())
        address = f"{discord.origin}/cdn/attachments/{message.channel_id}/{key}/{upload.name}"
        message.blobs[key] = message.files[upload.name] = upload.data
        attachment: Json = {"id": key, "filename": upload.name, "size": len(upload.data)}
        attachment |= {"url": address, "proxy_url": address}
        # Discord goes by the name too, and omits a type that it does not know.
        if kind := guess_type(upload.name)[0]:
            attachment["content_type"] = kind
        if upload.description:
            attachment["description"] = upload.description
        message.attachments.append(attachment)
    _resolve_embeds(message)
    _resolve_components(discord, message)


def check_references(components: list[Json], names: set[str]) -> None:
    """Refuse components that refer to a file that the message does not have."""
    for _, media in _media(components):
        name = media["url"].removeprefix(_SCHEME)
        if media["url"].startswith(_SCHEME) and name not in names:
            words = "The referenced attachment was not found"
            code = "UNFURLED_MEDIA_ITEM_REFERENCED_ATTACHMENT_NOT_FOUND"
            raise bad_form("components", code, words)


def _media(components: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Yield each media object, after the component or item that holds it."""
    for component in walk(components):
        for holder in (component, *component.get("items", ())):
            for key in ("media", "file"):
                if key in holder:
                    yield holder, holder[key]


def _resolve_components(discord: Discord, message: Message) -> None:
    by_name = {attachment["filename"]: attachment for attachment in message.attachments}
    for holder, media in _media(message.components):
        found = by_name.get(media["url"].removeprefix(_SCHEME))
        if found is not None and media["url"].startswith(_SCHEME):
            media |= {"url": found["url"], "attachment_id": found["id"]}
            media |= {"content_type": found.get("content_type")}
            if holder.get("type") == FILE:
                holder |= {"name": found["filename"], "size": found["size"]}
        media.setdefault("id", str(discord.world.new_id()))
        media["proxy_url"] = media["url"]


def _resolve_embeds(message: Message) -> None:
    by_name = {attachment["filename"]: attachment["url"] for attachment in message.attachments}
    for embed in message.embeds:
        places = [(embed.get(part), "url") for part in ("image", "thumbnail")]
        places += [(embed.get(part), "icon_url") for part in ("author", "footer")]
        for holder, key in places:
            if not holder or key not in holder:
                continue
            address = holder[key]
            if address.startswith(_SCHEME):
                address = by_name.get(address.removeprefix(_SCHEME), address)
            holder |= {key: address, f"proxy_{key}": address}


_FILE = re.compile(r"files\[(\d+)\]")


async def read_payload(request: web.Request) -> tuple[Any, Uploads]:
    """Return the body and the files; the body is None if the request has none."""
    if request.content_type.startswith("multipart/"):
        return await _read_multipart(request)
    text = await request.text()
    if request.content_type == "application/x-www-form-urlencoded":
        return dict(parse_qsl(text, keep_blank_values=True)), []
    return (_parsed(text) if text else None), []


async def _read_multipart(request: web.Request) -> tuple[Any, Uploads]:
    body: Any = None
    fields: dict[str, str] = {}
    uploads: Uploads = []
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        if part.name == "payload_json":
            body = _parsed(await part.text())
        elif part.filename is None:
            fields[part.name or ""] = await part.text()
        else:
            numbered = _FILE.fullmatch(part.name or "")
            key = numbered[1] if numbered else str(len(uploads))
            uploads.append(Upload(key, part.filename, bytes(await part.read())))
    return (fields or None) if body is None else body, uploads


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return HIDDEN  # not an object, so the route refuses it as bad JSON
