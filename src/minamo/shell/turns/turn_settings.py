"""The settings of a turn, each number with its reason, checked when they are made."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from minamo.core.checks import shown, whole
from minamo.core.limits import MS_MAX
from minamo.errors import BadSetting

# No honest piece of work needs more; a model that goes round in circles is ended here.
ITERATIONS_MAX = 100
# One failure is bad luck and two are a misunderstanding; a model that has not learnt from four
# error messages will not learn from the fifth.
FAILED_ROUNDS_MAX = 5
# Some models now and then say nothing, and then answer when asked once more.
EMPTY_RETRIES = 2
# Searching and drawing take minutes; nobody waits longer than five.
TOOL_TIMEOUT_MS = 300_000
# Twice the time of one reply (`stream_deadline_ms`), so that a reply ends by its own clock first.
# Whoever asks in a chat has gone after half an hour.
TURN_DEADLINE_MS = 1_800_000
# What a tool needs to finish what it has in hand; a person who pressed Stop hardly notices.
STOP_GRACE_MS = 1_000
# About 8,000 tokens.  More pushes what was said before out of the model's sight.
TOOL_RESULT_CHARS_MAX = 32_768
# Room for the note that something was cut off, and for every error we write ourselves.
TOOL_RESULT_CHARS_MIN = 1_000
# A marker is held back while it comes; nobody needs to wait for more than a word.
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
    """Every number of a turn.  Times are in milliseconds."""

    iterations_max: int = field(default=ITERATIONS_MAX, validator=whole(1, 1_000))
    """How many replies a turn may have, retries not counted."""
    failed_rounds_max: int = field(default=FAILED_ROUNDS_MAX, validator=whole(1))
    """So many rounds in a row in which not one call worked end the turn."""
    empty_retries: int = field(default=EMPTY_RETRIES, validator=whole(0, 10))
    turn_deadline_ms: int = field(default=TURN_DEADLINE_MS, validator=whole(1, MS_MAX))
    """How long the whole turn may take, with all its replies and tools."""
    tool_timeout_ms: int = field(default=TOOL_TIMEOUT_MS, validator=whole(1, MS_MAX))
    stop_grace_ms: int = field(default=STOP_GRACE_MS, validator=whole(0, MS_MAX))
    """How long running tools may go on after a user's stop, which can be taken back meanwhile."""
    tool_result_chars_max: int = field(
        default=TOOL_RESULT_CHARS_MAX, validator=whole(TOOL_RESULT_CHARS_MIN)
    )
    silence_marker: str = field(default="", validator=_marker)
    """A reply that is just this is not shown; empty: there is no such marker."""
