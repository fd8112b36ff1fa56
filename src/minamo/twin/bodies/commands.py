"""Tables of the bodies of application commands and their options."""

from __future__ import annotations

from typing import Any

from minamo.twin.bodies.forms import (
    Boolean,
    FieldType,
    List,
    Map,
    Number,
    Object,
    Snowflake,
    Text,
    Union,
    Whole,
)
from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Invalid

_PERMISSIONS_MAX = 2**54 - 1
_SUB_COMMAND, _SUB_COMMAND_GROUP, _STRING, _INTEGER, _CHANNEL, _NUMBER = 1, 2, 3, 4, 7, 10
_SLASH = 1
_OPTION_TYPES = range(1, 12)
_NAME = r"[-_'\w]{1,32}"  # and no upper case, see `_check_lower`
CHANNEL_TYPES = (0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15)
CHOICE_NAME = Text(least=1, most=100, required=True)
_CHOICES = {
    _STRING: Text(most=6_000, required=True),
    _INTEGER: Whole(least=-(2**53) + 1, most=2**53 - 1, required=True),
    _NUMBER: Number(required=True),
}


def _check_lower(name: str, _rules: Rules) -> None:
    if name != name.lower():
        words = "Command name is invalid"
        raise Invalid("APPLICATION_COMMAND_INVALID_NAME", words)


def _check_options(options: list[dict[str, Any]], _rules: Rules) -> None:
    names = [option["name"] for option in options]
    if len(set(names)) < len(names):
        raise Invalid("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "The name is taken")
    groups = [option["type"] in (_SUB_COMMAND, _SUB_COMMAND_GROUP) for option in options]
    if any(groups) and not all(groups):
        words = "Sub-commands and sub-command groups cannot be mixed with other options"
        raise Invalid("APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", words)
    needed = [bool(option.get("required")) for option in options]
    if needed != sorted(needed, reverse=True):
        words = "Required options must be placed before non-required options"
        raise Invalid("APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", words)


def _check_command(command: dict[str, Any], rules: Rules) -> None:
    if (command.get("type") or _SLASH) == _SLASH:
        name = Text(pattern=_NAME, checks=(_check_lower,))
        texts = {"name": name, "description": Text(least=1, most=100)}
    else:
        texts = {"description": Text(most=0)}
    problems = Invalid()
    for key, kind in texts.items():
        with problems.of(key):
            kind.read(command.get(key) or "", rules)
    problems.raise_if_any()


def _options(*types: int, inner: FieldType | None = None) -> List:
    return List(
        items=Union(tables={kind: _option(kind, inner) for kind in types}),
        most=25,
        checks=(_check_options,),
    )


def _option(kind: int, inner: FieldType | None) -> Object:
    fields: dict[str, FieldType] = {
        "name": Text(pattern=_NAME, checks=(_check_lower,), required=True, least=1, most=32),
        "name_localizations": Map(values=Text(least=1, most=32)),
        "description": Text(least=1, most=100, required=True),
        "description_localizations": Map(values=Text(least=1, most=100)),
        "required": Boolean(),
    }
    if kind in _CHOICES:
        choice = {"name": CHOICE_NAME, "name_localizations": Map(values=Text(least=1, most=100))}
        choices = List(
            items=Object(fields={**choice, "value": _CHOICES[kind]}, keeps_null=False), most=25
        )
        fields |= {"autocomplete": Boolean(), "choices": choices}
    if kind == _STRING:
        fields |= {
            "min_length": Whole(least=0, most=6_000),
            "max_length": Whole(least=1, most=6_000),
        }
    if kind in (_INTEGER, _NUMBER):
        bound = Number() if kind == _NUMBER else Whole(least=-(2**53) + 1, most=2**53 - 1)
        fields |= {"min_value": bound, "max_value": bound}
    if kind == _CHANNEL:
        fields["channel_types"] = List(items=Whole(among=CHANNEL_TYPES), unique=True)
    if inner is not None:
        fields["options"] = inner
    return Object(fields=fields, keeps_null=False)


_PLAIN = _options(*_OPTION_TYPES[2:])
_GROUPED = _options(_SUB_COMMAND, inner=_PLAIN)
_OPTIONS = List(
    items=Union(
        tables={
            _SUB_COMMAND: _option(_SUB_COMMAND, _PLAIN),
            _SUB_COMMAND_GROUP: _option(_SUB_COMMAND_GROUP, _GROUPED),
            **{kind: _option(kind, None) for kind in _OPTION_TYPES[2:]},
        }
    ),
    most=25,
    checks=(_check_options,),
)
_COMMAND: dict[str, FieldType] = {
    "name": Text(least=1, most=32, required=True),
    "name_localizations": Map(values=Text(least=1, most=32)),
    "description": Text(most=100),
    "description_localizations": Map(values=Text(least=1, most=100)),
    "options": _OPTIONS,
    "default_member_permissions": Whole(least=0, most=_PERMISSIONS_MAX),
    "dm_permission": Boolean(),
    "default_permission": Boolean(),
    "nsfw": Boolean(),
    "contexts": List(items=Whole(among=(0, 1, 2)), least=1, most=3, unique=True),
    # Discord's document wants one at least; lightbulb sends an empty list, and it is taken.
    "integration_types": List(items=Whole(among=(0, 1)), most=2, unique=True),
    "handler": Whole(among=(1, 2)),
    "type": Whole(among=(1, 2, 3, 4)),
}
COMMAND = Object(fields=_COMMAND, checks=(_check_command,))
EDIT_COMMAND = Object(fields={**_COMMAND, "name": Text(least=1, most=32)})
COMMANDS = List(items=Object(fields={**_COMMAND, "id": Snowflake()}, checks=(_check_command,)))
