"""Reading what users attach: pictures, text files, PDFs, voice messages.

Downloads are bounded in size, number and time.  A file that cannot be read leaves a line in the
message that names it and says why, and nothing else is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import hikari
from attrs import define, field, frozen

from minamo.errors import BadRequest
from minamo.wire.conversation import Image
from minamo.wire.files import PDF, TEXT, File, clean_name, decode_text, quoted, shortened
from minamo.wire.limits import FILE_BYTES_MAX, IMAGE_BYTES_MAX, TEXT_BYTES_MAX
from minamo.wire.options import as_json

# JSON overhead of each message and each file: braces, quotes and field names.
_FORM_BYTES = 256
# Discord's CDN sends the largest file within seconds.
_DOWNLOAD_S = 30.0
# Sent as they are, so downloaded whole; some uploads have no media type.
_NATIVE = (PDF, "audio/")
_NATIVE_NAMES = (".pdf", ".ogg", ".mp3", ".wav")
# Not downloaded, because they cannot be text; anything else is looked at.
_NEVER_TEXT = ("video/", "font/", "model/", "application/zip", "application/x-7z",
               "application/vnd.", "application/gzip", "application/x-msdownload")  # fmt: skip

Ask = Callable[[Awaitable[Any]], Awaitable[Any]]


@define
class Room:
    """The remaining room in a request, for everything that it quotes."""

    bytes: int
    images: int
    files: int
    characters: int
    """Of text files."""

    def take(self, size: int) -> bool:
        """Reserve *size* bytes plus the JSON overhead; return whether there was room."""
        if self.bytes < size + _FORM_BYTES:
            return False
        self.bytes -= size + _FORM_BYTES
        return True

    def has_for(self, size: int) -> bool:
        """Return whether there is room for *size* bytes in base64."""
        return self.bytes >= _as_base64(size) + _FORM_BYTES


@frozen
class Attached:
    """What a message has attached, in the provider's form."""

    texts: Sequence[str] = field(repr=False)
    """Text files, and the notes about what is left out."""
    images: Sequence[Image]
    files: Sequence[File]


async def read_attachments(
    attachments: Sequence[hikari.Attachment], room: Room, ask: Ask
) -> Attached:
    """Return the files and pictures of one message, as far as there is *room* for them.

    *ask* awaits a call to Discord and returns None if it fails.
    """
    texts: list[str] = []
    files: list[File] = []
    pictures = [attachment for attachment in attachments if is_picture(attachment)]
    for attachment in attachments:
        if is_picture(attachment):
            continue
        found = await _file(attachment, room, ask)
        if isinstance(found, File):
            files.append(found)
        else:
            texts.append(found)
    shown = [await _image(attachment, room, ask) for attachment in pictures]
    images = [image for image in shown if image is not None]
    if left_out := len(pictures) - len(images):
        several = f"{left_out} pictures are" if left_out > 1 else "a picture is"
        texts.append(f"[{several} left out]")
    return Attached(texts, images, files)


async def _image(picture: hikari.Attachment, room: Room, ask: Ask) -> Image | None:
    if picture.size > IMAGE_BYTES_MAX or not room.images or not room.has_for(picture.size):
        return None
    data = await ask(_download(picture, IMAGE_BYTES_MAX + 1)) or b""
    try:
        image = Image(data)
    except BadRequest:
        return None  # not an image format that providers accept
    if not room.take(_as_base64(len(data))):
        return None
    room.images -= 1
    return image


async def _file(attachment: hikari.Attachment, room: Room, ask: Ask) -> File | str:
    """Return the file, or its text, or the note that it is left out."""
    name = clean_name(attachment.title or attachment.filename)
    media_type = (attachment.media_type or "").partition(";")[0]
    is_text = not media_type.startswith(_NATIVE) and not name.lower().endswith(_NATIVE_NAMES)
    problem = ""
    if media_type.startswith(_NEVER_TEXT):
        problem = "neither text, a PDF, a picture nor sound"
    elif not room.files:
        problem = "too many files"
    elif not is_text and attachment.size > FILE_BYTES_MAX:
        problem = f"larger than {FILE_BYTES_MAX // 1_048_576} MiB"
    elif not (room.characters > 0 if is_text else room.has_for(attachment.size)):
        problem = "there is no more room"
    if problem:
        return _left_out(name, problem)
    data = await ask(_download(attachment, TEXT_BYTES_MAX if is_text else FILE_BYTES_MAX))
    if data is None:
        return _left_out(name, "it could not be downloaded")
    try:
        file = File(name, data, attachment.duration)
        if file.media_type == TEXT:
            cut = len(data) < attachment.size
            return _text(name, decode_text(data, cut=cut), cut=cut, room=room)
    except BadRequest as error:
        return _left_out(name, str(error))
    if len(data) < attachment.size or not room.take(_as_base64(len(data))):
        return _left_out(name, "there is no more room")
    room.files -= 1
    return file


def _text(name: str, text: str, *, cut: bool, room: Room) -> str:
    shown, note = shortened(text, room.characters)
    if cut and not note:
        note = "only the beginning"
    whole = quoted(name, shown, note)
    if not room.take(len(as_json(whole))):
        return _left_out(name, "there is no more room")
    room.files -= 1
    room.characters -= len(shown)
    return whole


async def _download(attachment: hikari.Attachment, bytes_max: int) -> bytes:
    """Return the content, or its first *bytes_max* bytes."""
    parts: list[bytes] = []
    left = bytes_max
    with anyio.fail_after(_DOWNLOAD_S):
        async with attachment.stream() as stream:
            async for part in stream:
                parts.append(part[:left])
                left -= len(parts[-1])
                if not left:
                    break
    return b"".join(parts)


def _left_out(name: str, why: str) -> str:
    return f"[the file {name} is left out: {why}]"


def _as_base64(size: int) -> int:
    return (size + 2) // 3 * 4


def is_picture(attachment: hikari.Attachment) -> bool:
    """Return whether an attachment says that it is a picture."""
    return (attachment.media_type or "").startswith("image/")
