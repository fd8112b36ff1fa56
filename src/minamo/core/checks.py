"""Validation of settings: numbers of the right type, within bounds.

An error names the setting and its allowed values.  The wrong value itself is shown shortened and
redacted: a setting in the wrong place may be a key.
"""

from __future__ import annotations

from typing import Any

from attrs import Attribute

from minamo.core.redact import shorten
from minamo.errors import BadSetting

# No setting in milliseconds, characters or messages is sensibly larger: 115 days.
NUMBER_MAX = 10**10
SECONDS_MAX = NUMBER_MAX // 1_000
# Length to which a wrong value is shortened.
_SHOWN_MAX = 60


def shown(value: object) -> str:
    """Return a wrong value for use in a message: short, and without secrets."""
    if isinstance(value, str):
        return repr(shorten(value, _SHOWN_MAX))
    if isinstance(value, int) and abs(value) > NUMBER_MAX:
        return "a number far beyond that"  # may have thousands of digits, which `repr` refuses
    try:
        return shorten(repr(value), _SHOWN_MAX)
    except Exception:  # noqa: BLE001 - a foreign `repr` may raise
        return f"a {type(value).__name__}"


def is_whole(value: object, low: int, high: int = NUMBER_MAX) -> bool:
    """Return whether *value* is an int from *low* to *high*; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_number(value: object, low: float, high: float) -> bool:
    """Return whether *value* is a number from *low* to *high*; NaN, True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def is_seconds(value: object) -> bool:
    """Return whether *value* is a time in seconds that can be waited for, 0 included."""
    return is_number(value, 0, SECONDS_MAX)


def whole(low: int, high: int | None = None) -> Any:
    """Return a validator for whole numbers."""

    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if is_whole(value, low, NUMBER_MAX if high is None else high):
            return
        may = f"{low} or more" if high is None else f"{low} to {high}"
        if high is None and is_whole(value, low, value):  # type: ignore[arg-type]
            may = f"{low} to {NUMBER_MAX}"
        raise BadSetting(f"{attribute.name} must be a whole number, {may}; it is {shown(value)}")

    return check


def seconds(_: object, attribute: Attribute[Any], value: object) -> None:
    """Refuse, as a validator, an invalid time."""
    if not is_seconds(value):
        may = f"a number of seconds, 0 to {SECONDS_MAX}"
        raise BadSetting(f"{attribute.name} must be {may}; it is {shown(value)}")


def positive_seconds(_: object, attribute: Attribute[Any], value: object) -> None:
    """Refuse, as a validator, an invalid time, or 0."""
    if not is_seconds(value) or value == 0:
        may = f"a number of seconds above 0, at most {SECONDS_MAX}"
        raise BadSetting(f"{attribute.name} must be {may}; it is {shown(value)}")
