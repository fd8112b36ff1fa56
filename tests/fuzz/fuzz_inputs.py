"""Any document that a person gives us is read, or refused with our own error: traces, settings,
uploads to the live page, and the bodies that the twin takes.

Coverage-guided: ``python tests/fuzz/fuzz_inputs.py -max_total_time=60`` with atheris installed.
`test_fuzz.py` runs the same check without it.
"""

from __future__ import annotations

import contextlib
import json
import sys

from minamo.bot.settings_file import TomlPositions, _File
from minamo.core.trace import read_trace, trace_lines
from minamo.errors import BadSetting, BadTrace
from minamo.inspect.views import look_at_lines
from minamo.twin.bodies import tables
from minamo.twin.bodies.commands import COMMAND
from minamo.twin.bodies.forms import FieldType, read_form
from minamo.twin.rules import Rules
from minamo.twin.server.refusals import Refused

FORMS: tuple[FieldType, ...] = (
    tables.CREATE_MESSAGE, tables.EDIT_MESSAGE, tables.EXECUTE_WEBHOOK, tables.CALLBACK,
    tables.THREAD, tables.EDIT_CHANNEL, tables.CREATE_WEBHOOK, COMMAND,
)  # fmt: skip


def check_trace(text: str) -> None:
    """A trace is read, written and read again as the same; or refused."""
    with contextlib.suppress(BadTrace):
        trace = read_trace(text.split("\n"))
        assert read_trace(trace_lines(trace.moments)).moments == trace.moments


def check_upload(text: str) -> None:
    """What the live page answers to an upload can be written as JSON; or it is refused."""
    with contextlib.suppress(BadTrace):
        json.dumps(look_at_lines(text.split("\n")))


def check_settings(text: str) -> None:
    """Settings are read; or refused."""
    with contextlib.suppress(BadSetting):
        _File("bot.toml", TomlPositions(text)).read(text, {})


def check_body(text: str) -> None:
    """A body of the twin is read by its form; or refused as Discord does."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return
    for form in FORMS:
        with contextlib.suppress(Refused):
            json.dumps(read_form(form, body, Rules()))


CHECKS = (check_trace, check_upload, check_settings, check_body)


def check(data: bytes) -> None:
    """The first byte chooses the reader, the rest is the document."""
    if data:
        CHECKS[data[0] % len(CHECKS)](data[1:].decode("utf-8", "replace"))


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
