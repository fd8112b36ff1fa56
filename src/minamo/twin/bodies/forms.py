"""Kinds of fields, from which the tables of request bodies are built, and their validator.

`read_form` checks a body against a table and returns a copy with Discord's conversions made:
numbers given as text, trimmed text, defaults.  All problems are reported together in the nested
form of error 50035.  A limit is a number, or the name of a field of `Rules`.  Fields that the
table does not name are dropped, as Discord ignores them.  The error codes are Discord's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Invalid, Refused

_SURROGATES = re.compile("[\ud800-\udfff]")
_SNOWFLAKE_MAX = 2**64 - 1
# 1 and 0 are equal to True and False.
_BOOLEANS = {True: True, "true": True, "True": True, "1": True}
_BOOLEANS |= {False: False, "false": False, "False": False, "0": False}
_ABSENT: Any = object()

Check = Callable[[Any, Rules], None]


@frozen(kw_only=True)
class FieldType:
    """The type of one field. A field that is not required accepts null as well."""

    required: bool = False
    default: Any = _ABSENT
    """The value that Discord fills in for a field that is absent or null."""
    checks: tuple[Check, ...] = ()
    """Rules that a type cannot express; each raises `Invalid`."""

    def read(self, value: Any, rules: Rules) -> Any:
        """Return *value* as Discord keeps it, or raise `Invalid`."""
        kept = self._convert(value, rules)
        for check in self.checks:
            check(kept, rules)
        return kept

    def _convert(self, value: Any, rules: Rules, /) -> Any:
        raise NotImplementedError


@frozen(kw_only=True)
class Text(FieldType):
    """A string; numbers are converted.  Lengths are measured after trimming."""

    least: int = 0
    most: int | str | None = None
    trim: bool = True
    pattern: str = ""

    def _convert(self, value: Any, rules: Rules, /) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Invalid("STRING_TYPE_CONVERT", f'Could not interpret "{value}" as string.')
        text = _SURROGATES.sub("", str(value))
        text = text.strip() if self.trim else text
        _measure(len(text), self.least, _limit(self.most, rules))
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise Invalid("STRING_TYPE_REGEX", "String value did not match validation regex.")
        return text


@frozen(kw_only=True)
class Address(FieldType):
    """A URL of one of the *schemes*."""

    most: int = 2_048
    schemes: tuple[str, ...] = ("http", "https")

    def _convert(self, value: Any, rules: Rules, /) -> str:
        address = str(Text(most=self.most).read(value, rules))
        try:
            parts = urlsplit(address)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme and parts.scheme not in self.schemes:
            words = (
                f'Scheme "{parts.scheme}" is not supported. Scheme must be one of {self.schemes}.'
            )
            raise Invalid("URL_TYPE_INVALID_SCHEME", words)
        if not parts.scheme or not parts.netloc:
            raise Invalid("URL_TYPE_INVALID_URL", "Not a well formed URL.")
        return address


@frozen(kw_only=True)
class Whole(FieldType):
    """An integer, optionally one of a few."""

    least: int | None = None
    most: int | None = None
    among: tuple[int, ...] = ()

    def _convert(self, value: Any, _rules: Rules, /) -> int:
        number = _number(value, int, "int")
        if self.among and number not in self.among:
            raise Invalid("BASE_TYPE_CHOICES", f"Value must be one of {_listed(self.among)}.")
        if self.least is not None and number < self.least:
            words = f"int value should be greater than or equal to {self.least}."
            raise Invalid("NUMBER_TYPE_MIN", words)
        if self.most is not None and number > self.most:
            words = f"int value should be less than or equal to {self.most}."
            raise Invalid("NUMBER_TYPE_MAX", words)
        return int(number)


@frozen(kw_only=True)
class Number(FieldType):
    """A number with or without a fraction."""

    def _convert(self, value: Any, _rules: Rules, /) -> float:
        return _number(value, float, "float")


@frozen(kw_only=True)
class Boolean(FieldType):
    """A boolean, also as text, which form bodies need."""

    def _convert(self, value: Any, _rules: Rules, /) -> bool:
        if not isinstance(value, bool | int | str) or value not in _BOOLEANS:
            raise Invalid("BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
        return _BOOLEANS[value]


@frozen(kw_only=True)
class Snowflake(FieldType):
    """An id, as text or as a number; kept as text."""

    def _convert(self, value: Any, _rules: Rules, /) -> str:
        found = _number(value, int, "snowflake")
        if not 0 <= found <= _SNOWFLAKE_MAX:
            raise Invalid("NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
        return str(int(found))


@frozen(kw_only=True)
class Timestamp(FieldType):
    """A time in ISO 8601."""

    def _convert(self, value: Any, _rules: Rules, /) -> str:
        try:
            datetime.fromisoformat(value)
        except (TypeError, ValueError):
            words = f"Could not parse {value}. Should be ISO8601."
            raise Invalid("DATE_TIME_TYPE_PARSE", words) from None
        return str(value)


@frozen(kw_only=True)
class OneOf(FieldType):
    """One of a few strings."""

    words: tuple[str, ...]

    def _convert(self, value: Any, _rules: Rules, /) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise Invalid("BASE_TYPE_CHOICES", f"Value must be one of {_listed(self.words)}.")
        return value


@frozen(kw_only=True)
class List(FieldType):
    """A list of *items*."""

    items: FieldType
    least: int = 0
    most: int | str | None = None
    unique: bool = False

    def _convert(self, value: Any, rules: Rules, /) -> list[Any]:
        if not isinstance(value, list):
            raise Invalid("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
        _measure(len(value), self.least, _limit(self.most, rules))
        kept, problems = [], Invalid()
        for number, item in enumerate(value):
            with problems.of(str(number)):
                kept.append(self.items.read(item, rules))
        problems.raise_if_any()
        if self.unique and len({repr(item) for item in kept}) < len(kept):
            raise Invalid("SET_TYPE_ALREADY_CONTAINS_VALUE", "The set already contains this value")
        return kept


@frozen(kw_only=True)
class Map(FieldType):
    """An object with arbitrary keys."""

    values: FieldType

    def _convert(self, value: Any, rules: Rules, /) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        kept, problems = {}, Invalid()
        for key, entry in value.items():
            with problems.of(key):
                kept[key] = None if entry is None else self.values.read(entry, rules)
        problems.raise_if_any()
        return kept


@frozen(kw_only=True)
class Object(FieldType):
    """An object with named *fields*."""

    fields: Mapping[str, FieldType] = field(factory=dict)
    keeps_null: bool = True
    """Whether null is kept, as edits need it, or treated as absent."""

    def _convert(self, value: Any, rules: Rules, /) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
        kept, problems = {}, Invalid()
        for name, kind in self.fields.items():
            given = value.get(name)
            with problems.of(name):
                if given is not None:
                    kept[name] = kind.read(given, rules)
                elif kind.required:
                    raise Invalid("BASE_TYPE_REQUIRED", "This field is required")
                elif kind.default is not _ABSENT:
                    kept[name] = kind.default
                elif name in value and self.keeps_null:
                    kept[name] = None
        problems.raise_if_any()
        return kept


@frozen(kw_only=True)
class Union(FieldType):
    """An object whose field `type` selects one of the tables."""

    tables: Mapping[int, Object]

    def _convert(self, value: Any, rules: Rules, /) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
        if value.get("type") is None:
            raise Invalid("BASE_TYPE_REQUIRED", "This field is required", at="type")
        given = value["type"]
        if isinstance(given, bool) or not isinstance(given, int) or given not in self.tables:
            words = f'Value of field "type" must be one of {tuple(self.tables)}.'
            raise Invalid("UNION_TYPE_CHOICES", words, at="type")
        return {"type": given, **self.tables[given].read(value, rules)}


def read_form(kind: FieldType, body: Any, rules: Rules) -> Any:
    """Return the body as Discord reads it; refuse it with 50035 if it does not fit."""
    try:
        return kind.read(body, rules)
    except Invalid as problems:
        raise Refused(50035, errors=problems.errors) from None


def _limit(limit: int | str | None, rules: Rules) -> int | None:
    return getattr(rules, limit) if isinstance(limit, str) else limit


def _measure(size: int, least: int, most: int | None) -> None:
    if most is not None and size > most and not least:
        raise Invalid("BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
    if size < least or (most is not None and size > most):
        raise Invalid("BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")


def _number(value: Any, kind: type[float], name: str) -> float:
    problem = Invalid("NUMBER_TYPE_COERCE", f'Value "{value}" is not {name}.')
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise problem
    try:
        found = kind(value)
    except (ValueError, OverflowError):
        raise problem from None
    if kind is int and isinstance(value, float) and found != value:
        raise problem
    return found


def _listed(values: tuple[Any, ...]) -> str:
    return "{" + ", ".join(str(value) for value in values) + "}"
