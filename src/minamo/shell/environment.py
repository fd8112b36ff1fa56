"""Settings from the environment, for those who run a bot they did not write.

What the program says in code goes before what the environment says; both are checked alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from minamo.core.checks import shown
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting

#: The names in the environment, and the settings they are for.
NAMES: Mapping[str, str] = {
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


def stream_config(environ: Mapping[str, str] | None = None, **given: Any) -> StreamConfig:
    """The settings of a stream: *given* in code, else from the environment, else the default."""
    found = os.environ if environ is None else environ
    for name, setting in NAMES.items():
        text = found.get(name, "").strip()
        if text and setting not in given:
            given[setting] = _number(name, text)
            _check(name, setting, given[setting])
    return StreamConfig(**given)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadSetting(
            f"the environment variable {name} must be a whole number; it is {shown(text)}"
        ) from None


def _check(name: str, setting: str, value: int) -> None:
    """Say which variable is wrong, not only which setting."""
    try:
        StreamConfig(**{setting: value})  # type: ignore[arg-type]  # all of them are numbers
    except BadSetting as error:
        raise BadSetting(f"the environment variable {name}: {error}") from None
