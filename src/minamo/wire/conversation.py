"""Messages of a conversation, their constructors, and checks that all dialects share.

Texts are private to users, so a `repr` shows only their length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.wire.files import TEXT, Base64, File, data_url, decode_text, quoted
from minamo.wire.json import whole
from minamo.wire.limits import IMAGE_BYTES_MAX

# The four formats that all three providers accept, by their first bytes.
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
    """A picture, as bytes or as an https URL that the provider fetches."""

    source: bytes | str = field(repr=lambda source: f"<{len(source)}>")
    media_type: str = ""
    """Detected from the bytes, or from the end of the URL, if not given."""

    def __attrs_post_init__(self) -> None:
        found = self._of_bytes() if isinstance(self.source, bytes) else self._of_url()
        if self.media_type and self.media_type not in _SUFFIXES.values():
            raise BadRequest(f"an image of type {self.media_type!r}: png, jpeg, gif or webp only")
        object.__setattr__(self, "media_type", self.media_type or found)

    def url(self) -> Base64 | str:
        """Return the URL of the picture, or the picture itself as a data URL."""
        if isinstance(self.source, str):
            return self.source
        return data_url(self.source, self.media_type)

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


Role = Literal["system", "user", "assistant", "tool"]
FILLER = "…"
"""Text for a message that a provider requires and the history lacks, as after a stopped tool."""
_ANY_ID = re.compile(".+", re.DOTALL)


def _size(value: Any) -> str:
    return f"<{len(value)}>"


@frozen(slots=True)
class ChatMessage:
    """One message.  Made by `user`, `assistant`, `system` and `tool_result`."""

    role: Role
    text: str = field(default="", repr=_size)
    name: str = ""
    """The author, in a conversation with several users."""
    images: tuple[Image, ...] = ()
    files: tuple[File, ...] = field(default=(), kw_only=True)
    """PDFs and sounds; the content of text files is part of the text."""
    calls: tuple[Call, ...] = ()
    """The tool calls that an assistant made after its text."""
    call: Call | None = None
    """The call that a tool's result answers."""
    failed: bool = False
    replay: Mapping[str, Any] = field(factory=dict, repr=_size)
    """The `replay` of the `DoneChunk` that ended this reply."""


def _sound(text: object, name: str) -> str:
    """Return *text* in an encodable form, with lone surrogate halves replaced."""
    if not isinstance(text, str):
        raise BadRequest(f"{name} must be text, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return whole(text)
    return text


def user(
    text: str = "",
    *,
    name: str = "",
    images: Iterable[Image | bytes | str] = (),
    files: Iterable[File] = (),
) -> ChatMessage:
    """Return a user's message with text, pictures, files, or several of them."""
    shown = tuple(i if isinstance(i, Image) else Image(i) for i in images)
    text, others = _sound(text, "a user's message"), []
    for file in files:
        if not isinstance(file, File):
            raise BadRequest(f"a file is a minamo.File, not a {type(file).__name__}")
        if file.media_type != TEXT:
            others.append(file)
        elif text.strip():
            text = f"{text}\n{quoted(file.name, _decoded(file))}"
        else:
            text = quoted(file.name, _decoded(file))
    if not text.strip() and not shown and not others:
        raise BadRequest("a user's message needs text, an image or a file")
    author = " ".join(_sound(name, "a name").split())
    return ChatMessage("user", text, author, shown, files=tuple(others))


def _decoded(file: File) -> str:
    try:
        return decode_text(file.data)
    except BadRequest as error:
        raise BadRequest(f"the file {file.name!r} is {error}") from None


def assistant(
    text: str = "",
    *,
    calls: Sequence[Call] = (),
    name: str = "",
    replay: Mapping[str, Any] | None = None,
) -> ChatMessage:
    """Return a message in which the model wrote *text* and then made *calls*."""
    text = _sound(text, "an assistant's message")
    if not text.strip() and not calls:
        raise BadRequest("an assistant's message needs text or calls")
    if not all(isinstance(call, Call) for call in calls):
        raise BadRequest("the calls of an assistant's message must be Call objects")
    return ChatMessage("assistant", text, name, calls=tuple(calls), replay=dict(replay or {}))


def system(text: str) -> ChatMessage:
    """Return a system message: instructions to the model."""
    text = _sound(text, "a system message")
    if not text.strip():
        raise BadRequest("a system message needs text")
    return ChatMessage("system", text)


def tool_result(call: Call, text: str, *, failed: bool = False) -> ChatMessage:
    """Return the result of *call*, which the preceding assistant message made."""
    if not isinstance(call, Call):
        raise BadRequest("a tool's message answers a Call")
    return ChatMessage("tool", _sound(text, "a tool's answer"), call.name, call=call, failed=failed)


@frozen(slots=True)
class MessageWithIds:
    """A message with the ids of its calls: the provider's own, or generated ones."""

    message: ChatMessage
    ids: tuple[str, ...] = ()


def match_tool_results(
    messages: Sequence[ChatMessage],
    fits: re.Pattern[str] = _ANY_ID,
    takes: Collection[str] = (),
) -> list[MessageWithIds]:
    """Check that calls and results match, as every provider requires, and give each an id.

    An id is kept if it *fits* the provider and no earlier call has it: the history may come from
    another provider, and some servers restart their ids with every reply.  Files stay if the
    provider *takes* their media type; a line of text replaces any other.
    """
    given: object = messages
    if not isinstance(given, Iterable) or isinstance(given, str):
        kind = type(given).__name__
        raise BadRequest(
            f"a conversation is a list such as [minamo.user(…)]; this is of type {kind}"
        )
    messages = list(messages)
    turns: list[MessageWithIds] = []
    waiting: list[tuple[Call, str]] = []
    for number, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise BadRequest(
                f"message {number} is a {type(message).__name__}, not a ChatMessage; "
                "minamo.user(…), assistant(…), system(…) and tool_result(…) make them"
            )
        if message.files:
            messages[number] = noting_files(message, takes)
    taken: set[str] = set()
    fresh = _fresh({call.id for message in messages for call in message.calls})
    for number, message in enumerate(messages):
        if message.call is not None:
            match = next((item for item in waiting if item[0] == message.call), None)
            if match is None:
                raise BadRequest(f"message {number} answers {message.name!r}, which was not called")
            waiting.remove(match)
            turns.append(MessageWithIds(message, (match[1],)))
            continue
        if waiting:
            raise BadRequest(f"{waiting[0][0].name!r} was called, message {number} is no answer")
        for call in message.calls:
            keeps = call.id not in taken and fits.fullmatch(call.id)
            waiting.append((call, call.id if keeps else next(fresh)))
            taken.add(call.id)
        turns.append(MessageWithIds(message, tuple(call_id for _, call_id in waiting)))
    if waiting:
        raise BadRequest(f"{waiting[0][0].name!r} was called and never answered")
    if not any(turn.message.role != "system" for turn in turns):
        raise BadRequest("a conversation needs at least one message that is not a system message")
    return turns


def noting_files(
    message: ChatMessage, takes: Collection[str], texts: Mapping[File, str] | None = None
) -> ChatMessage:
    """Return *message* with each file that is not taken replaced by its text, or a note of it."""
    kept = tuple(file for file in message.files if file.media_type in takes)
    if len(kept) == len(message.files):
        return message
    notes = [(texts or {}).get(file) or file.note() for file in message.files if file not in kept]
    text = "\n".join(filter(None, (message.text, *notes)))
    return evolve(message, text=text, files=kept)


@frozen(slots=True)
class Origin:
    """The model that a request is for, at its provider: reasoning goes back only to its origin.

    Signatures and encrypted reasoning are refused by another model, and by the same model at
    another provider.
    """

    host: str
    model: str

    def stamp(self, replay: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data that a reply leaves for the history with its origin, if there is any."""
        return {**replay, "origin": f"{self.host}/{self.model}"} if replay else {}

    def own(self, replay: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return *replay*, or nothing if it was made by another model."""
        made_by = replay.get("origin")
        return replay if made_by in (None, f"{self.host}/{self.model}") else {}

    def replay(self, message: ChatMessage) -> Mapping[str, Any]:
        """Return what a reply left for the history: with its first call, or with its text."""
        return self.own(message.calls[0].replay if message.calls else message.replay)


def _fresh(known: set[str]) -> Iterator[str]:
    """Yield unused ids of nine letters and digits, the form the strictest provider accepts."""
    return (made for number in count(1) if (made := f"call{number:05d}") not in known)


Parts = list[dict[str, Any]]

# The model may not speak first: providers refuse a history that begins with a call.
_OPENING = MessageWithIds(user(FILLER))


def merge_roles(
    turns: Iterable[MessageWithIds],
    model: str,
    field: str,
    parts_of: Callable[[MessageWithIds], Parts],
) -> list[dict[str, Any]]:
    """Return messages with consecutive ones of a role merged; tool results count as the user's.

    *model* is the dialect's role name for the model, *field* the key for the parts that *parts_of*
    returns.  System messages are left out: the dialect puts them in another field.
    """
    out: list[dict[str, Any]] = []
    for turn in turns:
        if turn.message.role == "system":
            continue
        role = model if turn.message.role == "assistant" else "user"
        if not out and role == model:
            out.append({"role": "user", field: parts_of(_OPENING)})
        parts = parts_of(turn)
        if out and out[-1]["role"] == role:
            out[-1][field].extend(parts)
        else:
            out.append({"role": role, field: parts})
    return out


def system_text(turns: Iterable[MessageWithIds]) -> str:
    """Return the system messages as one text, for the dialects that have a field for it."""
    texts = [turn.message.text for turn in turns if turn.message.role == "system"]
    return "\n\n".join(texts)


def with_author_prefix(message: ChatMessage) -> str:
    """Return the text of a message, prefixed with its author's name if it has one."""
    return f"{message.name}: {message.text}" if message.name else message.text
