"""Request options (tools, stop strings, sampling), and the encoding of request bodies.

Everything is checked before a request is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, get_args

import msgspec
from attrs import field, frozen

from minamo.core.checks import NUMBER_MAX, is_number, is_whole
from minamo.core.redact import shorten
from minamo.errors import BadRequest
from minamo.wire.files import Base64
from minamo.wire.json import measure, whole
from minamo.wire.limits import ARGUMENT_DEPTH_MAX, BODY_BYTES_MAX, STOP_STRINGS_MAX

# Accepted by all three providers: Gemini requires a letter first, the others no dots.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@frozen(slots=True)
class Tool:
    """One tool, as declared to the model."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(
        factory=lambda: {"type": "object", "properties": {}}, repr=False
    )
    """A JSON schema of type object."""

    def __attrs_post_init__(self) -> None:
        if not _NAME.fullmatch(str(self.name)):
            raise BadRequest(f"a tool's name is 1 to 64 letters, digits, _ or -, not {self.name!r}")
        problem = _problem(self.parameters)
        if problem:
            raise BadRequest(f"tool {self.name!r}: the parameters are no JSON schema: {problem}")


def name_in_history(name: str) -> str:
    """Return the name of a past call in a form that providers accept.

    A model may call a tool that does not exist.  It gets an error as the result, but every later
    request with such a name in it (`browser.open`, a piece of a chat template) would be refused.
    """
    return name if _NAME.fullmatch(name) else f"_{_FOREIGN.sub('_', name)}"[:64]


def _problem(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return "not an object"
    if schema.get("type") != "object":
        return "its type must be 'object'"
    try:
        # A round trip through JSON finds keys and values that JSON does not have.
        plain = msgspec.json.decode(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"not JSON ({type(error).__name__})"
    if measure(plain)[1] > ARGUMENT_DEPTH_MAX:
        return "nested too deep"
    # Imported late: it takes longer than all of minamo, and many bots have no tools.
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        return f"{error.json_path}: {shorten(str(error.message), 200)}"
    return ""


_CHOICES = ("auto", "none", "required")
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers, in ascending order."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)


class ReplyOptions(TypedDict, total=False):
    """The keyword arguments of `ask` and `chat`."""

    tools: Sequence[Tool]
    tool_choice: str | None
    stop: str | Sequence[str]
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    seed: int | None
    effort: Effort | None
    response_format: Mapping[str, Any] | None
    cache: bool
    web_search: bool
    extra: Mapping[str, Any]


def _listed(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


@frozen(slots=True, kw_only=True)
class RequestOptions:
    """The options of one request, validated; None leaves the choice to the provider."""

    tools: tuple[Tool, ...] = field(default=(), converter=_listed)
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of one tool."""
    stop: tuple[str, ...] = field(default=(), converter=_listed)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    effort: Effort | None = None
    response_format: Mapping[str, Any] | None = field(default=None, repr=False)
    """A JSON schema that the whole reply must fulfil."""
    cache: bool = False
    """Cache the prompt, on services that do so only on request."""
    web_search: bool = False
    """Let the model search the web on the provider's side; its sources become citations."""
    extra: Mapping[str, Any] = field(factory=dict, repr=False)
    """Provider-specific fields, merged into the body unchanged."""

    def __attrs_post_init__(self) -> None:
        names = [_name(tool) for tool in self.tools]
        if len(set(names)) < len(names):
            raise BadRequest("two tools of one name")
        if self.tool_choice is not None and self.tool_choice not in (*_CHOICES, *names):
            raise BadRequest(f"tool_choice {self.tool_choice!r}: auto, none, required or a tool")
        if not names:
            if self.tool_choice not in (None, "none"):
                raise BadRequest("tool_choice without tools")
            # Without tools, providers refuse even "none".
            object.__setattr__(self, "tool_choice", None)
        if len(self.stop) > STOP_STRINGS_MAX or not all(map(_is_text, self.stop)):
            raise BadRequest(f"stop must be at most {STOP_STRINGS_MAX} texts, none of them empty")
        _within("temperature", self.temperature, 0, 2)
        _within("top_p", self.top_p, 0, 1)
        for name in ("max_tokens", "seed"):
            value = getattr(self, name)
            low, high = (0, 2**63 - 1) if name == "seed" else (1, NUMBER_MAX)
            if value is not None and not is_whole(value, low, high):
                raise BadRequest(f"{name} must be a whole number from {low} to {high}")
        if self.effort is not None and self.effort not in EFFORTS:
            raise BadRequest(f"effort must be one of {', '.join(EFFORTS)}; it is {self.effort!r}")
        for name in ("cache", "web_search"):
            if not isinstance(getattr(self, name), bool):
                raise BadRequest(f"{name} must be true or false")
        problem = "" if self.response_format is None else _problem(self.response_format)
        if problem:
            raise BadRequest(f"response_format is no JSON schema: {problem}")
        if not isinstance(self.extra, Mapping):
            raise BadRequest("extra must be a mapping")


def checked(options: ReplyOptions) -> RequestOptions:
    """Return the options validated; refuse an unknown name instead of ignoring it."""
    unknown = sorted(set(options) - set(ReplyOptions.__annotations__))
    if unknown:
        raise BadRequest(f"no option {unknown[0]!r}: {', '.join(ReplyOptions.__annotations__)}")
    return RequestOptions(**options)


def _name(tool: object) -> str:
    if not isinstance(tool, Tool):
        raise BadRequest(f"a tool is a Tool, not a {type(tool).__name__}")
    return tool.name


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _within(name: str, value: object, low: float, high: float) -> None:
    if value is not None and not is_number(value, low, high):
        raise BadRequest(f"{name} must be a number from {low} to {high}")


def merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return *body* with *extra* merged into it recursively; *extra* wins."""
    out = dict(body)
    for key, value in extra.items():
        mine = out.get(key)
        both = isinstance(mine, dict) and isinstance(value, Mapping)
        out[key] = merged(mine, value) if both and mine is not None else value
    return out


def as_json(value: Any) -> bytes:
    """Return JSON; surrogate halves, which replayed pieces may hold, are joined or replaced."""
    return _body(value).json


def _body(value: Any) -> RequestBody:
    try:
        try:
            return _marked(value)
        except UnicodeEncodeError:
            return _marked(_encodable(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(f"a field that is not JSON ({type(error).__name__})") from None


def _marked(value: Any) -> RequestBody:
    files: list[Base64] = []

    def mark(found: object) -> msgspec.Raw:
        if not isinstance(found, Base64):
            raise TypeError(type(found).__name__)
        files.append(found)
        return msgspec.Raw(_MARK)

    return RequestBody(msgspec.json.encode(value, enc_hook=mark), tuple(files))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


# What stands for a file: the string "@" as no JSON encoder writes it, so no text contains it.
_MARK = b'"\\u0040"'
# How much of a body is written at once.  In base64, which has 4 bytes for 3, it is 256 KiB.
_PIECE_BYTES = 196_608


@frozen(slots=True)
class RequestBody:
    """The body of a request: JSON with a mark for each file, which is encoded while it is sent.

    Three pictures make a body of 20 MB; to encode it at once would hold the event loop.
    """

    json: bytes = field(default=b"", repr=lambda json: f"<{len(json)} bytes>")
    files: tuple[Base64, ...] = ()

    def __len__(self) -> int:
        """Return the number of bytes of all pieces."""
        return len(self.json) + sum(len(file) - len(_MARK) for file in self.files)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Yield the body in pieces of at most 256 KiB."""
        first, *others = self.json.split(_MARK)
        yield from _cut(first)
        for file, part in zip(self.files, others, strict=True):
            yield from file.pieces(_PIECE_BYTES)
            yield from _cut(part)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))


def encoded(body: dict[str, Any], extra: Mapping[str, Any]) -> RequestBody:
    """Return the body as JSON; refuse one above the size that every provider accepts."""
    made = _body(merged(body, extra))
    if len(made) > BODY_BYTES_MAX:
        raise BadRequest(f"a request of {len(made)} bytes: at most {BODY_BYTES_MAX}")
    return made
