"""Files in both directions: those that users attach, and those that models make.

The text of an attached file becomes part of the message.  A PDF or a sound is sent to services
that take it; in the message for any other service a line says that it is there.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
import wave
from collections.abc import Iterator
from typing import Any

import msgspec
from attrs import field, frozen

from minamo.core.chunks import FileChunk
from minamo.errors import BadRequest
from minamo.wire.json import convert_optional
from minamo.wire.limits import FILE_BYTES_MAX, FILES_MAX
from minamo.wire.sse import CUT_OUT

PDF = "application/pdf"
TEXT = "text/plain"
SOUNDS = {"audio/ogg": "ogg", "audio/mpeg": "mp3", "audio/wav": "wav", "audio/flac": "flac",
          "audio/aac": "aac", "audio/mp4": "m4a"}  # fmt: skip
"""The media types of sounds, and what services call these formats."""
WITHOUT_EYES = re.compile(r"(ft:)?(gpt-3|gpt-4(-|$)|o1-mini|o3-mini)")
"""OpenAI's models that see no pictures, and so read no PDFs."""

_MAGIC = ((b"%PDF-", PDF), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"), (b"ID3", "audio/mpeg"))
# Longest first: the mark of UTF-16 begins the one of UTF-32.
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Control characters that no text has; form feeds and the colours of a terminal are in some.
_NOT_TEXT = re.compile("[\0-\x07\x0e-\x1a\x1c-\x1f]")
# What could end a line or a quotation around a file's name.
_NOT_IN_NAMES = re.compile(r"""[\s<>\[\]"'`\x00-\x1f\x7f-\x9f\u2028\u2029]+""")
_NAME_CHARS_MAX = 100


class Base64:
    """A string in a request: a file in base64, which is encoded only while it is sent.

    It is neither a struct nor an attrs class, because msgspec would encode those itself.
    """

    __slots__ = ("_data", "_prefix")

    def __init__(self, data: bytes, prefix: str = "") -> None:
        self._data = data
        self._prefix = prefix.encode()

    def __len__(self) -> int:
        """Return the number of bytes in JSON, the quotes included."""
        return len(self._prefix) + (len(self._data) + 2) // 3 * 4 + 2

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the string as JSON, *size* bytes of the file at a time; 3 divides *size*."""
        yield b'"' + self._prefix
        view = memoryview(self._data)
        for at in range(0, len(view), size):
            # Four times as fast as the standard library.
            yield msgspec.json.encode(view[at : at + size])[1:-1]
        yield b'"'


def data_url(data: bytes, media_type: str) -> Base64:
    """Return *data* as a data URL."""
    return Base64(data, f"data:{media_type};base64,")


def clean_name(name: str) -> str:
    """Return a file's name without the characters that could forge its surroundings."""
    return _NOT_IN_NAMES.sub(" ", name).strip()[:_NAME_CHARS_MAX] or "file"


def decode_text(data: bytes, *, cut: bool = False) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 or -32 with a byte order mark.

    With *cut*, *data* is only the beginning of the file, and a torn last character is left out.
    """
    mark, encoding = next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data[len(mark) :], final=not cut)
    except UnicodeDecodeError:
        raise BadRequest("neither text in UTF-8, a PDF nor sound") from None
    if _NOT_TEXT.search(text):
        raise BadRequest("neither text, a PDF nor sound")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def media_type_of(data: bytes) -> str:
    """Return the media type that the first bytes show; text unless they show another."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    if data[4:8] == b"ftyp" and data[8:11] == b"M4A":
        return "audio/mp4"
    if data[:1] == b"\xff" and data[1:2]:
        # The first two bytes of a frame: its sync bits, and the layer.
        if data[1] & 0xE6 == 0xE2:
            return "audio/mpeg"
        if data[1] & 0xF6 == 0xF0:
            return "audio/aac"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), TEXT)


@frozen(slots=True)
class File:
    """A file for the model: text or code, a PDF, or sound."""

    name: str = field(converter=clean_name)
    data: bytes = field(repr=lambda data: f"<{len(data)}>")
    seconds: float | None = None
    """The length of a voice message, if known."""
    media_type: str = field(init=False)
    """Detected from the bytes: `text/plain`, `application/pdf`, or a type of sound."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.data, bytes):
            raise BadRequest(f"the file {self.name!r} must be bytes")
        if len(self.data) > FILE_BYTES_MAX:
            raise BadRequest(
                f"the file {self.name!r} has {len(self.data)} bytes: at most {FILE_BYTES_MAX}"
            )
        object.__setattr__(self, "media_type", media_type_of(self.data))

    def note(self, why: str = "") -> str:
        """Return the line that replaces the file where it cannot be sent."""
        if self.media_type == PDF:
            return f"[{self.name} is a PDF that cannot be read here{why and f': {why}'}]"
        description = f"{self.name} is a sound"
        if self.seconds is not None:
            description = f"this is a voice message of {self.seconds:.0f} s"
        return f"[{description}, which cannot be listened to here]"


def quoted(name: str, text: str, note: str = "") -> str:
    """Return a file's text between marks that it cannot forge: they are made from all of it."""
    mark = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    about = f' note="{note}"' if note else ""
    ending = "" if text.endswith("\n") else "\n"
    return f'<file-{mark} name="{clean_name(name)}"{about}>\n{text}{ending}</file-{mark}>'


def shortened(text: str, characters_max: int) -> tuple[str, str]:
    """Return the beginning of *text* that fits, and a note about the rest; empty if all fits."""
    if len(text) <= characters_max:
        return text, ""
    return text[:characters_max], f"the first {characters_max} characters only"


# How the files of a reply are named, by their media type.
_SUFFIXES = {**SOUNDS, "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp",
             "image/gif": "gif", PDF: "pdf", TEXT: "txt", "text/csv": "csv"}  # fmt: skip
# Speech as bare samples of 16 bits, one channel: OpenAI's `pcm16`, Gemini's `audio/L16`.
PCM = re.compile(r"audio/(?:l16|pcm)\b(?:.*\brate=(\d{4,6}))?", re.IGNORECASE)
_RATE = 24_000
_KIND = re.compile(r"image|audio|video")


_URL_SAFE = str.maketrans("-_", "+/")


def _decoded(content: Any) -> bytes | None:
    """Return the bytes of base64; None if it is none.  Google's SDK writes its URL-safe form."""
    if not isinstance(content, str):
        return None
    data = convert_optional(bytes, content)
    if data is None:
        plain = content.translate(_URL_SAFE) + "=" * (-len(content) % 4)
        data = convert_optional(bytes, plain)
    return data


class ReplyFiles:
    """The files of one reply: each of them once, and so many at most.

    Speech arrives in pieces and is one file, at the end of the reply.
    """

    __slots__ = ("_count", "_pieces", "_rate", "_seen", "_size")

    def __init__(self) -> None:
        self._count = 0
        self._seen: set[tuple[int, int]] = set()
        self._pieces: list[bytes] = []
        self._size = 0
        self._rate = _RATE

    def take(self, content: Any, media_type: Any) -> FileChunk | None:
        """Return the file of a *content* in base64; None if it is none, or a repeat.

        A file that was too long for its line is returned without its content.
        """
        if self._count == FILES_MAX:
            return None
        media_type = media_type if isinstance(media_type, str) else ""
        if content == CUT_OUT:
            return self._named(b"", media_type)
        data = _decoded(content)
        if not data:
            return None
        mark = len(data), hash(data)  # a digest would take longer than all the rest
        if mark in self._seen:
            return None
        self._seen.add(mark)
        return self._named(data, media_type)

    def hear(self, content: Any, media_type: str = "") -> None:
        """Keep a piece of speech, in base64."""
        data = _decoded(content)
        rate = PCM.match(media_type)
        if rate is not None and rate[1]:
            self._rate = int(rate[1])
        # One that is a little too large is not attached, and users are told so.
        if data and self._size <= FILE_BYTES_MAX:
            self._pieces.append(data)
            self._size += len(data)

    def speech(self) -> FileChunk | None:
        """Return the speech as one file; None if there is none."""
        data = b"".join(self._pieces)
        if not data:
            return None
        media_type = media_type_of(data)
        if media_type in SOUNDS:
            return self._named(data, media_type)
        file = io.BytesIO()
        with wave.open(file, "wb") as made:
            made.setnchannels(1)
            made.setsampwidth(2)
            made.setframerate(self._rate)
            made.writeframes(data)
        return self._named(file.getvalue(), "audio/wav")

    def _named(self, data: bytes, media_type: str) -> FileChunk:
        self._count += 1
        media_type = media_type.partition(";")[0].strip().lower()
        kind = _KIND.match(media_type)
        name = f"{kind[0] if kind else 'file'}-{self._count}.{_SUFFIXES.get(media_type, 'bin')}"
        return FileChunk(data, media_type, name)


_TICKS = re.compile("`{3,}")


def fenced(text: str, language: str = "") -> str:
    """Return *text* as a block of code, in a fence that is longer than any in it."""
    fence = "`" * max([2, *(len(run) for run in _TICKS.findall(text))]) + "`"
    ending = "" if text.endswith("\n") else "\n"
    return f"\n\n{fence}{language}\n{text}{ending}{fence}\n\n"
