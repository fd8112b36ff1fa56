"""The body of an HTTP request: JSON, a web form, or multipart with files."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

from minamo.twin.bodies.uploads import Upload, Uploads
from minamo.twin.journal import HIDDEN

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
