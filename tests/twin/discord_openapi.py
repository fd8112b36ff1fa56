"""Discord's OpenAPI document as a judge of the twin: of its answers, and of what it accepts.

The document is not part of this repository.  Name the path of a copy in MINAMO_DISCORD_OPENAPI.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
from attrs import define, field, frozen
from jsonschema import Draft202012Validator, FormatChecker, validators
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

VARIABLE = "MINAMO_DISCORD_OPENAPI"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "found" / "discord-openapi.json"
_URI = "urn:discord"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
# Longer than this is a technical bound of the document, not a rule of Discord.
_LENGTH_MAX, _ITEMS_MAX = 6_000, 200

Json = dict[str, Any]
Path_ = tuple[str | int, ...]


def document() -> Path | None:
    """Return where the document is, if there is one."""
    given = os.environ.get(VARIABLE)
    found = Path(given) if given else _BESIDE
    return found if found.is_file() else None


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("date-time")(lambda one: not isinstance(one, str) or bool(_TIME.fullmatch(one)))
_FORMATS.checks("uri")(lambda one: not isinstance(one, str) or bool(urlsplit(one).scheme))
_FORMATS.checks("snowflake")(lambda one: not isinstance(one, str) or one.isdigit())


def _any_of(validator: Any, subs: Any, instance: Any, schema: Any) -> Iterator[Any]:
    # `oneOf` is read as `anyOf`: without additionalProperties two branches may both fit.
    found: list[Any] = []
    for number, sub in enumerate(subs):
        errors = list(validator.descend(instance, sub, schema_path=number))
        if not errors:
            return
        found.extend(errors)
    yield jsonschema.ValidationError("fits no branch", context=found)


_Validator = validators.extend(Draft202012Validator, {"oneOf": _any_of, "anyOf": _any_of})


@frozen
class Operation:
    """One method of one path."""

    method: str
    path: str
    about: Json = field(repr=False)

    @property
    def parts(self) -> list[str | None]:
        """The segments of the path; None for a parameter."""
        segments = self.path.strip("/").split("/")
        return [None if one.startswith("{") else one for one in segments]

    def fits(self, segments: list[str]) -> bool:
        """Whether a path is one of this operation."""
        return len(segments) == len(self.parts) and all(
            part in (None, given) for part, given in zip(self.parts, segments, strict=True)
        )

    @property
    def body(self) -> Json:
        """The schema of the JSON body."""
        return dict(self.about["requestBody"]["content"]["application/json"]["schema"])


@define(eq=False)
class Judge:
    """The document, read."""

    spec: Json = field(repr=False)
    operations: list[Operation] = field(init=False, repr=False)
    _registry: Any = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        resource = Resource(self.spec, DRAFT202012)
        self._registry = Registry().with_resource(_URI, resource)
        self.operations = [
            Operation(method.upper(), path, about)
            for path, methods in self.spec["paths"].items()
            for method, about in methods.items()
            if method != "parameters"
        ]

    def operation(self, method: str, path: str) -> Operation | None:
        """Return the operation of a request; literal segments go before parameters."""
        segments = path.partition("?")[0].strip("/").split("/")
        found = [one for one in self.operations if one.method == method and one.fits(segments)]
        return max(found, key=lambda one: [part is not None for part in one.parts], default=None)

    def errors(self, schema: Json, instance: Any) -> list[tuple[str, str]]:
        """Return where and how an instance does not fit, by the branch that fits best."""
        validator = _Validator(_absolute(schema), registry=self._registry, format_checker=_FORMATS)
        return [told for error in validator.iter_errors(instance) for told in _leaves(error)]

    def answer_errors(self, operation: Operation, status: int, body: Any) -> list[tuple[str, str]]:
        """Return what is wrong with an answer."""
        answers = operation.about["responses"]
        known = answers.get(str(status)) or answers.get(f"{status // 100}XX")
        if known is None:
            return [("status", f"{status} is not among {list(answers)}")]
        content = self.resolve(known).get("content")
        if not content:
            return [] if body is None else [("body", "there should be none")]
        schema = content["application/json"]["schema"]
        extra = [(where, "not in the document") for where in sorted(self._extra(schema, body))]
        return self.errors(schema, body) + extra

    def resolve(self, schema: Json) -> Json:
        """Follow references."""
        while "$ref" in schema:
            node: Any = self.spec
            for part in schema["$ref"].removeprefix("#/").split("/"):
                node = node[part]
            schema = node
        return schema

    def _objects(self, schema: Json, instance: Any) -> list[Json]:
        """The schemas without alternatives that describe an instance."""
        schema = self.resolve(schema)
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices is not None:
            counted = [(len(self.errors(one, instance)), one) for one in choices]
            least = min(count for count, _ in counted)
            fitting = [one for count, one in counted if count == least]
            return [found for one in fitting for found in self._objects(one, instance)]
        if "allOf" in schema:
            return [found for one in schema["allOf"] for found in self._objects(one, instance)]
        return [schema]

    def _extra(self, schema: Json, instance: Any, path: Path_ = ()) -> set[str]:
        """The properties of an instance that the document does not mention."""
        objects = self._objects(schema, instance)
        found: set[str] = set()
        if isinstance(instance, list):
            items = next((one["items"] for one in objects if "items" in one), None)
            for one in instance if items is not None else ():
                found |= self._extra(items, one, (*path, "[]"))
        if isinstance(instance, dict):
            known = {k: v for one in objects for k, v in (one.get("properties") or {}).items()}
            if not known or any(one.get("additionalProperties") for one in objects):
                return found
            for key, one in instance.items():
                if key in known:
                    found |= self._extra(known[key], one, (*path, key))
                else:
                    found.add(_dotted((*path, key)))
        return found

    # What the document forbids.

    def wrong_bodies(self, schema: Json, body: Any) -> Iterator[tuple[str, str, Any]]:
        """Yield bodies that differ from a good one in one forbidden way: where, how, body."""
        for path, how, value in self._violations(schema, body, ()):
            wrong = copy.deepcopy(body)
            node = wrong
            for step in path[:-1]:
                node = node[step]
            if value is _GONE:
                del node[path[-1]]
            else:
                node[path[-1]] = value
            yield _dotted(path), how, wrong

    def _violations(
        self, schema: Json, instance: Any, path: Path_
    ) -> Iterator[tuple[Path_, str, Any]]:
        objects = self._objects(schema, instance)
        if isinstance(instance, list) and instance:
            items = next((one["items"] for one in objects if "items" in one), None)
            if items is not None:
                yield from self._violations(items, instance[0], (*path, 0))
        if not isinstance(instance, dict):
            return
        fields = {k: v for one in objects for k, v in (one.get("properties") or {}).items()}
        for name, sub in fields.items():
            for how, value in self._wrong_values(sub, instance.get(name)):
                yield (*path, name), how, value
            if name in instance:
                yield from self._violations(sub, instance[name], (*path, name))
                if all(name in one.get("required", ()) for one in objects):
                    yield (*path, name), "missing", _GONE

    def _wrong_values(self, schema: Json, given: Any) -> Iterator[tuple[str, Any]]:
        typed = list(self._types(schema))
        kinds = {kind for kind, _ in typed} - {"null"}
        if kinds and kinds <= {"string", "integer", "number", "boolean"}:
            yield "object for scalar", {"a": 1}
        if kinds == {"array"}:
            yield "string for array", "x"
        if kinds == {"object"}:
            yield "string for object", "x"
        for kind, one in typed:
            if kind == "string" and kinds == {"string"}:
                most = one.get("maxLength")
                if most and most <= _LENGTH_MAX:
                    yield "maxLength + 1", "x" * (most + 1)
                if one.get("minLength"):
                    yield "minLength - 1", "x" * (one["minLength"] - 1)
            if kind == "integer":
                if one.get("maximum", 2**31) < 2**31 - 1:
                    yield "maximum + 1", one["maximum"] + 1
                if one.get("minimum") is not None and one["minimum"] >= 0:
                    yield "minimum - 1", one["minimum"] - 1
                if one.get("enum") or "const" in one:
                    yield "not one of", 987
            if kind == "array" and kinds == {"array"} and given:
                if one.get("maxItems", _ITEMS_MAX) < _ITEMS_MAX:
                    yield "maxItems + 1", [given[0]] * (one["maxItems"] + 1)
                if one.get("minItems"):
                    yield "minItems - 1", given[: one["minItems"] - 1]

    def _types(self, schema: Json) -> Iterator[tuple[str, Json]]:
        schema = self.resolve(schema)
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices is not None and not all("const" in one for one in choices):
            for one in choices:
                yield from self._types(one)
        elif "allOf" in schema:
            for one in schema["allOf"]:
                yield from self._types(one)
        else:
            kinds = schema.get("type", [])
            values = {"enum": choices} if choices is not None else {}
            for kind in kinds if isinstance(kinds, list) else [kinds]:
                yield kind, {**schema, **values}


_GONE: Any = object()


def read_document(path: Path) -> Judge:
    """Return the judge."""
    return Judge(json.loads(path.read_text(encoding="utf-8")))


def _absolute(schema: Any) -> Any:
    """The schema with references that have a base."""
    if isinstance(schema, dict):
        return {
            key: f"{_URI}{one}" if key == "$ref" else _absolute(one) for key, one in schema.items()
        }
    return [_absolute(one) for one in schema] if isinstance(schema, list) else schema


def _leaves(error: Any, above: Path_ = ()) -> list[tuple[str, str]]:
    path = (*above, *error.path)
    if not error.context:
        return [(_dotted(path), error.message[:120])]
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)

    def cost(some: list[Any]) -> tuple[bool, int]:
        return any("type" in inner.path for inner in some), len(some)

    return [told for inner in min(branches.values(), key=cost) for told in _leaves(inner, path)]


def _dotted(path: Path_) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path) or "body"
