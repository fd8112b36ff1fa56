"""Tables of components: rows, buttons, selects, the parts of Components V2, modals.

The defaults are those that Discord fills in; clients rely on them when they read the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minamo.twin.bodies.forms import (
    Address,
    Boolean,
    FieldType,
    List,
    Object,
    OneOf,
    Snowflake,
    Text,
    Union,
    Whole,
)
from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Invalid

ROW, BUTTON, STRING_SELECT, TEXT_INPUT, TEXT_DISPLAY, FILE = 1, 2, 3, 4, 10, 13
_LINK, _PREMIUM = 5, 6
_COLOR_MAX = 0xFFFFFF


class ServerFault(Exception):
    """A request to which the real Discord answers HTTP 500."""


def _component(*checks: Any, **fields: FieldType) -> Object:
    return Object(fields={"id": Whole(least=0), **fields}, keeps_null=False, checks=checks)


def _check_button(button: dict[str, Any], _rules: Rules) -> None:
    style = button["style"]
    wanted = {_LINK: "url", _PREMIUM: "sku_id"}.get(style, "custom_id")
    for name in ("url", "sku_id", "custom_id"):
        if name == wanted and not button.get(name):
            raise Invalid("BASE_TYPE_REQUIRED", f"A {name} is required", at=name)
        if name != wanted and button.get(name):
            words = f"A button of this style cannot have a {name}"
            raise Invalid("BUTTON_COMPONENT_INVALID", words, at=name)
    if style != _PREMIUM and not (button.get("label") or button.get("emoji")):
        words = "A label or an emoji is required"
        raise Invalid("BUTTON_COMPONENT_MISSING_LABEL_OR_EMOJI", words, at="label")


def _check_values(select: dict[str, Any], _rules: Rules) -> None:
    most = select["max_values"]
    if select["min_values"] > most:
        raise Invalid("COMPONENT_SELECT_MIN_ABOVE_MAX", "More than max_values", at="min_values")
    options = select.get("options", ())
    if options and most > len(options):
        words = "More than there are options"
        raise Invalid("COMPONENT_SELECT_MAX_ABOVE_OPTIONS", words, at="max_values")
    if len({option["value"] for option in options}) < len(options):
        words = "The specified option value is already used"
        raise Invalid("COMPONENT_OPTION_VALUE_DUPLICATED", words, at="options")


def _check_row(row: dict[str, Any], _rules: Rules) -> None:
    kinds = [component["type"] for component in row["components"]]
    if len(kinds) > 1 and any(kind != BUTTON for kind in kinds):
        words = "A row holds buttons, or one select"
        raise Invalid("COMPONENT_LAYOUT_WIDTH_EXCEEDED", words, at="components")


_CUSTOM_ID = Text(least=1, most=100, required=True)
_EMOJI = Object(
    fields={"id": Snowflake(), "name": Text(most=32), "animated": Boolean()}, keeps_null=False
)
_MEDIA = Object(
    fields={"url": Address(schemes=("http", "https", "attachment"), required=True)}, required=True
)
_BUTTON = _component(
    _check_button,
    style=Whole(among=(1, 2, 3, 4, 5, 6), required=True),
    custom_id=Text(least=1, most=100),
    label=Text(most=80),
    disabled=Boolean(),
    url=Address(most=512, schemes=("http", "https", "discord")),
    sku_id=Snowflake(),
    emoji=_EMOJI,
)
_OPTION = Object(
    fields={
        "label": Text(least=1, most=100, required=True),
        "value": Text(least=1, most=100, required=True),
        "description": Text(most=100),
        "default": Boolean(),
        "emoji": _EMOJI,
    },
    keeps_null=False,
)


def _select(**fields: FieldType) -> Object:
    return _component(
        _check_values,
        custom_id=_CUSTOM_ID,
        placeholder=Text(most=150),
        min_values=Whole(least=0, most=25, default=1),
        max_values=Whole(least=1, most=25, default=1),
        disabled=Boolean(),
        required=Boolean(),
        **fields,
    )


def _defaults(*kinds: str) -> List:
    value = {"id": Snowflake(required=True), "type": OneOf(words=kinds, required=True)}
    return List(items=Object(fields=value), most=25)


_SELECTS = {
    STRING_SELECT: _select(options=List(items=_OPTION, least=1, most=25, required=True)),
    5: _select(default_values=_defaults("user")),
    6: _select(default_values=_defaults("role")),
    7: _select(default_values=_defaults("user", "role")),
    8: _select(default_values=_defaults("channel"), channel_types=List(items=Whole())),
}
_ROW = _component(
    _check_row,
    components=List(
        items=Union(tables={BUTTON: _BUTTON, **_SELECTS}),
        least=1,
        most="row_buttons_max",
        required=True,
    ),
)
_TEXT_DISPLAY = _component(content=Text(least=1, most="components_text_max", required=True))
_THUMBNAIL = _component(
    media=_MEDIA,
    description=Text(least=1, most=1_024, default=None),
    spoiler=Boolean(default=False),
)
_SECTION = _component(
    components=List(
        items=Union(tables={TEXT_DISPLAY: _TEXT_DISPLAY}), least=1, most=3, required=True
    ),
    accessory=Union(tables={BUTTON: _BUTTON, 11: _THUMBNAIL}, required=True),
)
_GALLERY_ITEM = Object(
    fields={
        "media": _MEDIA,
        "description": Text(least=1, most=1_024, default=None),
        "spoiler": Boolean(default=False),
    }
)
_GALLERY = _component(items=List(items=_GALLERY_ITEM, least=1, most=10, required=True))
_FILE = _component(
    file=Object(fields={"url": Address(schemes=("attachment",), required=True)}, required=True),
    spoiler=Boolean(default=False),
)
_SEPARATOR = _component(divider=Boolean(default=True), spacing=Whole(among=(1, 2), default=1))
_PARTS = {
    ROW: _ROW,
    9: _SECTION,
    TEXT_DISPLAY: _TEXT_DISPLAY,
    12: _GALLERY,
    FILE: _FILE,
    14: _SEPARATOR,
}
_CONTAINER = _component(
    components=List(items=Union(tables=_PARTS), least=1, most=40, required=True),
    accent_color=Whole(least=0, most=_COLOR_MAX, default=None),
    spoiler=Boolean(default=False),
)
#: The components of a message, before its Components V2 flag is known.
COMPONENTS = List(items=Union(tables={**_PARTS, 17: _CONTAINER}), most=40)

_TEXT_INPUT = _component(
    custom_id=_CUSTOM_ID,
    style=Whole(among=(1, 2), required=True),
    label=Text(least=1, most=45),
    value=Text(most=4_000),
    placeholder=Text(most=100),
    required=Boolean(),
    min_length=Whole(least=0, most=4_000),
    max_length=Whole(least=1, most=4_000),
)


def _group(least: int) -> Object:
    return _component(
        custom_id=_CUSTOM_ID,
        options=List(items=_OPTION, least=least, most=10, required=True),
        min_values=Whole(least=0, most=10),
        max_values=Whole(least=1, most=10),
        required=Boolean(),
    )


_UPLOAD = _component(
    custom_id=_CUSTOM_ID,
    min_values=Whole(least=0, most=10),
    max_values=Whole(least=1, most=10),
    required=Boolean(),
)
_LABELLED = {
    **_SELECTS,
    TEXT_INPUT: _TEXT_INPUT,
    19: _UPLOAD,
    21: _group(2),
    22: _group(1),
    23: _component(custom_id=_CUSTOM_ID, default=Boolean()),
}
_LABEL = _component(
    label=Text(least=1, most=45, required=True),
    description=Text(least=1, most=100),
    component=Union(tables=_LABELLED, required=True),
)
_INPUT_ROW = _component(
    components=List(items=Union(tables={TEXT_INPUT: _TEXT_INPUT}), least=1, most=1, required=True)
)
MODAL = Object(
    fields={
        "custom_id": _CUSTOM_ID,
        "title": Text(least=1, most=45, required=True),
        "components": List(
            items=Union(tables={ROW: _INPUT_ROW, TEXT_DISPLAY: _TEXT_DISPLAY, 18: _LABEL}),
            least=1,
            most=40,
            required=True,
        ),
    }
)


def finish_components(rules: Rules, given: list[dict[str, Any]], *, is_v2: bool) -> None:
    """Check the components of a message together and give each an id.

    Raises `Invalid`, or `ServerFault` where the real server crashes.
    """
    every = list(walk(given))
    if is_v2:
        _check_v2(rules, every)
    else:
        _check_rows(rules, given)
    _check_ids(every)
    for number, component in enumerate(every, start=1):
        component.setdefault("id", number)


def walk(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the components and all nested ones."""
    for component in given:
        yield component
        yield from walk(component.get("components") or [])
        if isinstance(component.get("accessory"), dict):
            yield component["accessory"]


def shown_text(given: list[dict[str, Any]]) -> str:
    """Return the text of the text displays, one paragraph each."""
    return "\n".join(
        component["content"] for component in walk(given) if component["type"] == TEXT_DISPLAY
    )


def _check_rows(rules: Rules, given: list[dict[str, Any]]) -> None:
    problems = Invalid()
    for number, row in enumerate(given):
        with problems.of(str(number)):
            if row["type"] != ROW:
                words = 'Value of field "type" must be one of (1,).'
                raise Invalid("UNION_TYPE_CHOICES", words, at="type")
    problems.raise_if_any()
    if len(given) > rules.action_rows_max:
        raise Invalid("BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")


def _check_v2(rules: Rules, every: list[dict[str, Any]]) -> None:
    if len(every) > rules.components_max:
        words = f"Must be {rules.components_max} or fewer in length."
        raise Invalid("COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", words)
    texts = [component["content"] for component in every if component["type"] == TEXT_DISPLAY]
    if sum(map(len, texts)) > rules.components_text_max:
        words = f"The total text may not exceed {rules.components_text_max} characters"
        raise Invalid("COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", words)
    if sum(len(text.encode("utf-8", "replace")) for text in texts) > rules.components_bytes_max:
        # Not a refusal but a crash of Discord's server: many non-ASCII characters are enough.
        raise ServerFault


def _check_ids(every: list[dict[str, Any]]) -> None:
    custom_ids = [component["custom_id"] for component in every if component.get("custom_id")]
    if len(set(custom_ids)) < len(custom_ids):
        words = "Component custom id cannot be duplicated"
        raise Invalid("COMPONENT_CUSTOM_ID_DUPLICATED", words)
    ids = [component["id"] for component in every if component.get("id")]
    if len(set(ids)) < len(ids):
        raise Invalid("COMPONENT_ID_DUPLICATED", "Component id cannot be duplicated")
