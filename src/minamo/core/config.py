"""The settings of one stream, validated on construction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from attrs import Attribute, field, frozen

from minamo.core import limits
from minamo.core.checks import shown, whole
from minamo.core.cleaning.clean import RULES
from minamo.errors import BadSetting


class HumanizerDegree(IntEnum):
    """Degree to which a reply is cut into messages."""

    NONE = 0
    """Aggregated: the whole reply at once."""
    LOW = 1
    """At paragraph ends."""
    MEDIUM = 2
    """At line ends."""
    HEAVY = 3
    """At sentence ends too, with humanised text."""


def _flag(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise BadSetting(f"{attribute.name} must be true or false; it is {shown(value)}")


def _text(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise BadSetting(f"{attribute.name} must be text; it is {shown(value)}")


def _texts(_: object, attribute: Attribute[Any], value: tuple[object, ...]) -> None:
    if not all(isinstance(item, str) for item in value):
        raise BadSetting(f"{attribute.name} must be a list of texts; it is {shown(list(value))}")


def _tables(_: object, __: object, value: object) -> None:
    if value not in ("code", "bullets", "raw"):
        raise BadSetting(f"tables must be code, bullets or raw; it is {shown(value)}")


def _citations(_: object, __: object, value: object) -> None:
    if value not in ("off", "end", "in_place"):
        raise BadSetting(f"show_citations must be off, end or in_place; it is {shown(value)}")


def _place(value: object) -> Any:
    return ("end" if value else "off") if isinstance(value, bool) else value


def _on_one_line(rule: object) -> str:
    return str(rule) if str(rule).isprintable() else repr(rule)


def _rules(_: object, __: object, value: frozenset[object]) -> None:
    unknown = sorted(_on_one_line(rule) for rule in value if rule not in RULES)
    if unknown:
        raise BadSetting(
            f"clean_off names unknown rules {', '.join(unknown)}; known are {', '.join(RULES)}"
        )


def _mentions(_: object, __: object, value: Mapping[object, object]) -> None:
    for name, number in value.items():
        named = isinstance(name, str) and name and not name.startswith("@")
        if not named or not str(number).isdecimal():
            raise BadSetting(
                f"mentions must map names without @ to ids; it has {shown(name)}: {shown(number)}"
            )


def _named(value: object) -> frozenset[str]:
    return frozenset(item if isinstance(item, str) else repr(item) for item in _listed(value))


def _listed(value: object) -> Any:
    return tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)


def _ids(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise BadSetting(f"mentions must map names to ids; it is {shown(value)}")
    return {name: str(number) for name, number in value.items()}


_MS = whole(1, limits.MS_MAX)


#: Environment variables and the settings they are for.
ENVIRONMENT: Mapping[str, str] = {
    "INACTIVITY_TIMEOUT_MS": "inactivity_timeout_ms",
    "FIRST_TOKEN_TIMEOUT_MS": "first_token_timeout_ms",
    "STREAM_DEADLINE_MS": "stream_deadline_ms",
    "STREAM_SDK_CALL_TIMEOUT_MS": "sdk_call_timeout_ms",
    "DRAIN_TIMEOUT_MS": "drain_timeout_ms",
    "HUMANIZER_DEGREE": "degree",
    "MAX_MESSAGE_LENGTH": "max_message_length",
    "FLUSH_BUFFER_SIZE": "flush_buffer_size",
    "FLUSH_BUFFER_SIZE_CODE_BLOCK": "flush_buffer_size_code_block",
    "SEND_MESSAGE_LIMIT": "send_message_limit",
}


@frozen(kw_only=True)
class StreamConfig:
    """All settings of a stream.  Times are in milliseconds."""

    degree: int = field(default=HumanizerDegree.LOW, validator=whole(0, 3))
    max_message_length: int = field(
        default=limits.MESSAGE_LENGTH,
        validator=whole(limits.MESSAGE_LENGTH_MIN, limits.MESSAGE_LENGTH_MAX),
    )
    flush_buffer_size: int = field(default=limits.FLUSH_PROSE, validator=whole(1))
    flush_buffer_size_code_block: int = field(default=limits.FLUSH_CODE, validator=whole(1))
    send_message_limit: int = field(default=0, validator=whole(0))
    """0: no limit."""
    inactivity_timeout_ms: int = field(default=120_000, validator=_MS)
    first_token_timeout_ms: int = field(default=120_000, validator=_MS)
    stream_deadline_ms: int = field(default=900_000, validator=_MS)
    sdk_call_timeout_ms: int = field(default=120_000, validator=whole(10_000, limits.MS_MAX))
    """For one pass of a tool loop; every chunk and every receipt restarts it."""
    drain_timeout_ms: int = field(default=5_000, validator=_MS)
    """How long a stop request waits, at most, for messages already sent."""
    suppress_text_output: bool = field(default=False, validator=_flag)
    overlap_removal: bool = field(default=False, validator=_flag)
    tables: str = field(default="code", validator=_tables)
    humanize: bool = field(default=True, validator=_flag)
    """Has an effect at degree 3 only."""
    humanize_seed: int = field(default=0, validator=whole(0))
    clean_off: frozenset[str] = field(default=frozenset(), converter=_named, validator=_rules)
    uncensor_unicode_space: bool = field(default=False, validator=_flag)
    bot_name: str = field(default="", validator=_text)
    speaker_names: tuple[str, ...] = field(default=(), converter=_listed, validator=_texts)
    generic_speaker_guard: bool = field(default=False, validator=_flag)
    guard_first_line: bool = field(default=False, validator=_flag)
    """Whether a name of `speaker_names` also ends the reply on its very first line."""
    mentions: Mapping[str, str] = field(factory=dict, converter=_ids, validator=_mentions)
    prefill: str = field(default="", validator=_text)
    show_citations: str = field(default="off", converter=_place, validator=_citations)
    """Show the sources that the model names as numbered links at the `end` of the reply.

    `in_place` also puts their numbers after the passages, where the provider names the sources
    while the text arrives.
    """

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **given: Any) -> StreamConfig:
        """Build a config from *given*, else the environment, else the defaults.

        `ENVIRONMENT` lists the variables.  *environ* defaults to the process's own environment,
        which the core reads only here, and only when this is called.
        """
        if environ is None:
            import os

            environ = os.environ
        for name, setting in ENVIRONMENT.items():
            text = environ.get(name, "").strip()
            if text and setting not in given:
                given[setting] = _number(name, text)
                _check_variable(name, setting, given[setting])
        return cls(**given)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadSetting(
            f"the environment variable {name} must be a whole number; it is {shown(text)}"
        ) from None


def _check_variable(name: str, setting: str, value: int) -> None:
    """Raise an error that names the variable, not only the setting."""
    try:
        StreamConfig(**{setting: value})  # type: ignore[arg-type]  # all of them are numbers
    except BadSetting as error:
        raise BadSetting(f"the environment variable {name}: {error}") from None
