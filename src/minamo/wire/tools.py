"""Tools a model may call: a name, what it does, and a JSON schema of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from attrs import field, frozen

from minamo.core.redact import shorten
from minamo.errors import BadRequest
from minamo.wire.decode import measure
from minamo.wire.limits import ARGUMENT_DEPTH_MAX

# What all three providers take: Gemini wants a letter first, the others no dots.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@frozen(slots=True)
class Tool:
    """One tool, as the model is told of it."""

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
    """The name of a call that was made, as it may be told.

    A model may call what does not exist.  It is told so, but a history with such a name in it
    (`browser.open`, a piece of a chat template) would be refused for the rest of its days.
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
    # Imported late: it costs more time than all of ours, and many bots have no tools.
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        return f"{error.json_path}: {shorten(str(error.message), 200)}"
    return ""
