"""The settings of a turn, with the reason for each default; validated on construction."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from minamo.core.checks import shown, whole
from minamo.core.limits import MS_MAX
from minamo.errors import BadSetting

# No real task needs more; this ends a model that loops.
ITERATIONS_MAX = 100
# One failure may be chance and two a misunderstanding; a model that has not corrected itself after
# four error messages will not do so after the fifth.
FAILED_ROUNDS_MAX = 5
# Some models occasionally return an empty reply, and answer when asked again.
EMPTY_RETRIES = 2
# Searching and image generation take minutes; users do not wait longer than five.
TOOL_TIMEOUT_MS = 300_000
# Twice the deadline of one reply (`stream_deadline_ms`), so that a reply reaches its own deadline
# first.  A user in a chat has left after half an hour.
TURN_DEADLINE_MS = 1_800_000
# Time for a tool to finish its current work; a user who pressed Stop hardly notices it.
STOP_GRACE_MS = 1_000
# About 8,000 tokens.  More pushes earlier messages out of the model's context.
TOOL_RESULT_CHARS_MAX = 32_768
# Room for the truncation note, and for every error that minamo writes itself.
TOOL_RESULT_CHARS_MIN = 1_000
# A marker is withheld while it arrives, which delays the reply; a word is enough.
SILENCE_MARKER_CHARS_MAX = 64


def _marker(_: object, attribute: Attribute[Any], value: object) -> None:
    fine = isinstance(value, str) and value == value.strip()
    if not fine or len(value) > SILENCE_MARKER_CHARS_MAX:  # type: ignore[arg-type]
        raise BadSetting(
            f"{attribute.name} must be text of at most {SILENCE_MARKER_CHARS_MAX} characters, "
            f"without blanks around it; it is {shown(value)}"
        )


@frozen(kw_only=True)
class TurnSettings:
    """The limits of a turn.  Times are in milliseconds."""

    iterations_max: int = field(default=ITERATIONS_MAX, validator=whole(1, 1_000))
    """Maximum number of replies in a turn, not counting retries."""
    failed_rounds_max: int = field(default=FAILED_ROUNDS_MAX, validator=whole(1))
    """Number of consecutive rounds without a successful call after which the turn ends."""
    empty_retries: int = field(default=EMPTY_RETRIES, validator=whole(0, 10))
    turn_deadline_ms: int = field(default=TURN_DEADLINE_MS, validator=whole(1, MS_MAX))
    """Maximum duration of the whole turn, with all its replies and tools."""
    tool_timeout_ms: int = field(default=TOOL_TIMEOUT_MS, validator=whole(1, MS_MAX))
    stop_grace_ms: int = field(default=STOP_GRACE_MS, validator=whole(0, MS_MAX))
    """Time running tools may continue after a user's stop, which can be withdrawn meanwhile."""
    tool_result_chars_max: int = field(
        default=TOOL_RESULT_CHARS_MAX, validator=whole(TOOL_RESULT_CHARS_MIN)
    )
    silence_marker: str = field(default="", validator=_marker)
    """A reply that consists of exactly this text is not shown; empty: no marker."""
