"""JSON schemas without references: small servers and old models do not follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REF = "#/$defs/"
_KINDS: tuple[tuple[type, str], ...] = ((str, "string"), (bool, "boolean"), (int, "integer"))


class Recursive(Exception):
    """A type contains itself, so that its schema has no end; the message is its name."""


def plain(
    schema: Mapping[str, Any], parts: Mapping[str, Any], within: tuple[str, ...] = ()
) -> dict[str, Any]:
    """*schema* with every reference into *parts* written out, and without titles."""
    schema = dict(schema)
    if "$ref" in schema:
        name = str(schema.pop("$ref")).removeprefix(_REF)
        if name in within:
            raise Recursive(name)
        # What is said beside a reference is about this place, so it wins.
        return {**plain(parts[name], parts, (*within, name)), **plain(schema, parts, within)}
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        if key == "properties":
            out[key] = {name: plain(one, parts, within) for name, one in value.items()}
        elif isinstance(value, Mapping) and key != "default":
            out[key] = plain(value, parts, within)
        elif key in ("anyOf", "prefixItems"):
            out[key] = [plain(one, parts, within) for one in value]
        else:
            out[key] = value
    return _typed(out)


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Say the type of an enumeration too: some servers want one everywhere."""
    listed = () if "type" in schema else schema.get("enum", ())
    for kind, name in _KINDS:
        if listed and all(type(value) is kind for value in listed):
            return {"type": name, **schema}
    return schema
