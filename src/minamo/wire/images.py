"""Pictures for a conversation: bytes or a URL, type and size checked before anything is sent."""

from __future__ import annotations

from urllib.parse import urlsplit

from attrs import field, frozen

from minamo.errors import BadRequest
from minamo.wire.limits import IMAGE_BYTES_MAX

# The four that all three providers take, by their first bytes.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_SUFFIXES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
             "webp": "image/webp"}  # fmt: skip


def _sniff(data: bytes) -> str:
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


@frozen(slots=True)
class Image:
    """A picture, as bytes or as an https URL that the provider fetches by itself."""

    source: bytes | str = field(repr=lambda source: f"<{len(source)}>")
    media_type: str = ""
    """Found out from the bytes, or from the end of the URL, if not given."""

    def __attrs_post_init__(self) -> None:
        found = self._of_bytes() if isinstance(self.source, bytes) else self._of_url()
        if self.media_type and self.media_type not in _SUFFIXES.values():
            raise BadRequest(f"an image of type {self.media_type!r}: png, jpeg, gif or webp only")
        object.__setattr__(self, "media_type", self.media_type or found)

    def _of_bytes(self) -> str:
        assert isinstance(self.source, bytes)
        if len(self.source) > IMAGE_BYTES_MAX:
            raise BadRequest(f"an image of {len(self.source)} bytes: at most {IMAGE_BYTES_MAX}")
        found = _sniff(self.source)
        if not found or self.media_type not in ("", found):
            raise BadRequest("an image whose bytes are not the png, jpeg, gif or webp claimed")
        return found

    def _of_url(self) -> str:
        if not isinstance(self.source, str):
            raise BadRequest("an image is bytes or a URL")
        try:
            parts = urlsplit(self.source)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme != "https" or not parts.hostname or len(self.source) > 2_048:
            raise BadRequest("an image's URL must be a plain https one")
        return _SUFFIXES.get(parts.path.rpartition(".")[2].lower(), "")
