"""The tool specification of a typed async function: description, JSON schema, argument type.

Reads the docstring, resolves references in the schema, and checks the signature.  msgspec makes
the JSON schema and validates the arguments of every call against the same types.  Nothing here
calls the function.
"""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from attrs import frozen

from minamo.errors import BadRequest
from minamo.shell.turns.tool_job import ToolContext
from minamo.wire.options import Tool


@frozen(slots=True)
class Documented:
    """A parsed docstring."""

    description: str = ""
    parameters: Mapping[str, str] = {}


def documented(docstring: str) -> Documented:
    """Parse a Google, NumPy or Sphinx docstring; sections such as examples are left out."""
    if not docstring:
        return Documented()
    # Imported lazily, like jsonschema: many bots have no tools.
    from docstring_parser import parse

    try:
        found = parse(docstring)
    except Exception:  # noqa: BLE001 - the parser gives up on some; the model reads it as it is
        return Documented(docstring)
    prose = (found.short_description, found.long_description)
    lines = {
        name.strip(): " ".join((parameter.description or "").split())
        for parameter in found.params
        for name in parameter.arg_name.split(",")  # NumPy style documents several at once
    }
    return Documented("\n\n".join(part for part in prose if part), lines)


_REF = "#/$defs/"
_KINDS: tuple[tuple[type, str], ...] = ((str, "string"), (bool, "boolean"), (int, "integer"))


class Recursive(Exception):
    """A type that contains itself, so its schema cannot be inlined; the message is its name."""


def plain(
    schema: Mapping[str, Any], parts: Mapping[str, Any], within: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return *schema* with every reference into *parts* inlined, and without titles."""
    schema = dict(schema)
    if "$ref" in schema:
        name = str(schema.pop("$ref")).removeprefix(_REF)
        if name in within:
            raise Recursive(name)
        # Keys beside a reference are specific to this place, so they take precedence.
        return {**plain(parts[name], parts, (*within, name)), **plain(schema, parts, within)}
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        if key == "properties":
            out[key] = {name: plain(schema, parts, within) for name, schema in value.items()}
        elif isinstance(value, Mapping) and key != "default":
            out[key] = plain(value, parts, within)
        elif key in ("anyOf", "prefixItems"):
            out[key] = [plain(item, parts, within) for item in value]
        else:
            out[key] = value
    return _typed(out)


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* with the type of an enumeration: some servers require one everywhere."""
    listed = () if "type" in schema else schema.get("enum", ())
    for kind, name in _KINDS:
        if listed and all(type(value) is kind for value in listed):
            return {"type": name, **schema}
    return schema


# OpenAI refuses longer descriptions.
DESCRIPTION_CHARS_MAX = 1_024

_MANY = "takes any number of arguments; give each a name and a type of its own"
_NAMELESS = {
    inspect.Parameter.POSITIONAL_ONLY: "cannot be given by name; take away the `/` behind it",
    inspect.Parameter.VAR_POSITIONAL: _MANY,
    inspect.Parameter.VAR_KEYWORD: _MANY,
}


@frozen(slots=True)
class Described:
    """A function as specified to the model, and the type that parses its arguments."""

    spec: Tool
    arguments: type[msgspec.Struct] | None
    """Omitted arguments are `msgspec.UNSET`, so that the function's own defaults apply.

    None: the function takes them all as one mapping, ``arguments``, checked by the schema alone.
    """
    contexts: tuple[str, ...] = ()
    """Names of the parameters that receive the `ToolContext`."""


def describe(
    function: Callable[..., Any], name: str | None = None, description: str | None = None
) -> Described:
    """Return the specification of *function*.

    Raises:
        BadRequest: the function cannot be a tool; names the tool, the parameter and the remedy.
    """
    _check_kind(function)
    name = function.__name__ if name is None else name
    docs = documented(inspect.getdoc(function) or "")
    text = docs.description if description is None else description
    if len(text) > DESCRIPTION_CHARS_MAX:
        raise BadRequest(
            f"tool {name!r}: its description has {len(text)} characters, providers take "
            f"{DESCRIPTION_CHARS_MAX}; shorten the docstring or pass description="
        )
    hints = _hints(function, name)
    fields: list[tuple[str, Any, Any]] = []
    schemas: dict[str, Any] = {}
    contexts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _NAMELESS:
            raise _bad(name, parameter.name, _NAMELESS[parameter.kind])
        hint = hints.get(parameter.name)
        if hint is None:
            raise _bad(name, parameter.name, "has no type; annotate it, as in `sides: int`")
        if _is_context(hint):
            contexts.append(parameter.name)
            continue
        schemas[parameter.name] = _schema(name, parameter, hint, docs)
        optional = parameter.default is not inspect.Parameter.empty
        unset = msgspec.field(default_factory=lambda: msgspec.UNSET)
        fields.append((parameter.name, hint, unset if optional else msgspec.field()))
    arguments = msgspec.defstruct(
        "arguments", fields, kw_only=True, forbid_unknown_fields=True, module=__name__
    )
    parameters: dict[str, Any] = {"type": "object", "properties": schemas}
    needed = [field.name for field in msgspec.structs.fields(arguments) if field.required]
    if needed:
        parameters["required"] = needed
    parameters["additionalProperties"] = False
    return Described(Tool(name, text, parameters), arguments, tuple(contexts))


def _check_kind(function: object) -> None:
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        raise BadRequest(f"a tool is an async function, not a {type(function).__name__}")
    if not inspect.iscoroutinefunction(function):
        raise BadRequest(
            f"tool {function.__name__!r} is not `async def`, so it would hold up every reply and "
            "could not be stopped; make it async, with `anyio.to_thread.run_sync` for slow work"
        )


def _hints(function: Callable[..., Any], name: str) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise BadRequest(
            f"tool {name!r}: its annotations name {error.name!r}, which its module does not have; "
            "define or import it at the top of the module"
        ) from None
    except Exception as error:  # noqa: BLE001 - annotations are code, and may raise anything
        raise BadRequest(f"tool {name!r}: its annotations are no types ({error})") from None


def _is_context(hint: Any) -> bool:
    union = get_origin(hint) in (Union, types.UnionType)
    return hint is ToolContext or (union and ToolContext in get_args(hint))


def _schema(tool: str, parameter: inspect.Parameter, hint: Any, docs: Documented) -> dict[str, Any]:
    try:
        msgspec.json.Decoder(hint)
        (schema,), parts = msgspec.json.schema_components([hint])
        made = plain(schema, parts)
    except Recursive as error:
        raise _bad(
            tool, parameter.name, f"is a {error}, which contains itself; use dict[str, Any]"
        ) from None
    except TypeError as error:
        # The last line is the reason; the lines before it are about msgspec's own hooks.
        why = str(error).strip().rpartition("\n")[2]
        raise _bad(tool, parameter.name, f"has a type that JSON does not have: {why}") from None
    texts = [extra for extra in _extras(hint) if isinstance(extra, str)]
    description = texts[0] if texts else docs.parameters.get(parameter.name, "")
    if description:
        made["description"] = description
    if parameter.default is not inspect.Parameter.empty:
        # A default that JSON cannot represent is left out of the schema.
        with contextlib.suppress(TypeError, ValueError):
            made["default"] = msgspec.to_builtins(parameter.default)
    return made


def _extras(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _bad(tool: str, parameter: str, problem: str) -> BadRequest:
    return BadRequest(f"tool {tool!r}: parameter {parameter!r} {problem}")
