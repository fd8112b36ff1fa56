"""Whatever a line of a trace holds: it is read and can be looked at, or it is a `BadTrace`."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minamo.cli.main import main
from minamo.core.chunks import TextChunk
from minamo.core.trace import SETTINGS, Moment, read_trace, trace_lines
from minamo.errors import BadTrace
from minamo.inspect.views import look_at

#: One line of every kind with every field it may have.
LINES: list[dict[str, Any]] = [
    {"t": 1.0, "chunk": {"type": "text", "content": "Hi", "thoughts": ["a"]}},
    {"t": 1, "chunk": {"type": "function_call", "name": "a", "arguments": {"n": 1}, "id": "c"}},
    {"chunk": {"type": "function_call", "calls": [{"name": "a", "arguments": {}, "id": ""}]}},
    {
        "chunk": {
            "type": "error", "kind": "timeout", "message": "m", "retryable": True,
            "retry_after": 2.5, "status": 500, "thoughts": [],
        }
    },
    {
        "chunk": {
            "type": "done", "finish_reason": "stop", "model": "m", "provider": "p",
            "usage": {"input_tokens": 1, "output_tokens": 2, "reasoning_tokens": 3, "cached_tokens": 4},
        }
    },
    {"t": 2, "stop": {"kind": "user", "requester": 7, "context": {"a": 1}}},
    {"kill": True},
    {"delivery_lost": True},
    {"end": True},
    {"settings": dict.fromkeys(SETTINGS, 1)},
]  # fmt: skip


class Raw(float):
    """A number that is written with more digits or powers than Python's own `repr` has."""

    def __new__(cls, digits: str) -> Raw:
        made = super().__new__(cls, 0.0)
        made.digits = digits
        return made

    digits: str

    def __repr__(self) -> str:
        return self.digits


def nested(depth: int) -> Any:
    value: Any = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


NUMBERS = st.one_of(
    st.integers(),
    st.integers(0, 500).map(lambda power: 10**power),
    st.integers(0, 500).map(lambda power: -(10**power)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([Raw("1e400"), Raw("-1e400"), Raw("1e-400"), Raw("1E+308"), Raw("9" * 5000)]),
)
TEXTS = st.one_of(
    st.text(max_size=8), st.sampled_from(["\ud800", "\udcff x", "a\nb", "text", "user"])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
) | st.integers(50, 120).map(nested)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a line at which a value stands."""
    found = [path]
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def put(line: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    line = copy.deepcopy(line)
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return line


@st.composite
def odd_lines(draw: st.DrawFn) -> str:
    line = draw(st.sampled_from(LINES))
    if "settings" in line:  # one at a time: the others would be refused first
        name = draw(st.sampled_from(SETTINGS))
        return write({"settings": {name: draw(VALUES)}})
    for _ in range(draw(st.integers(1, 2))):
        line = put(line, draw(st.sampled_from(places(line))), draw(VALUES))
    return write(line)


def write(value: Any) -> str:
    if isinstance(value, Raw):
        return value.digits
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write, value)) + "]"
    return json.dumps(value)


def at(path: str, value: Any) -> str:
    """The first line of the list that has that place, with *value* there."""
    keys = tuple(int(key) if key.isdecimal() else key for key in path.split("."))
    return write(put(next(one for one in LINES if keys in places(one)), keys, value))


@given(odd_lines())
@settings(max_examples=200, deadline=None)
@example(at("t", 10**400))
@example(at("t", Raw("1e400")))
@example(at("chunk.type", ["text"]))
@example(at("chunk.type", {}))
@example(at("chunk.arguments", {"a": Raw("1e999")}))
@example(at("chunk.arguments", nested(70)))
@example(at("chunk.name", "\ud800"))
@example(at("chunk.retry_after", Raw("1e400")))
@example(write({"settings": {"inactivity_timeout_ms": 10**400}}))
@example(write({"settings": {"first_token_timeout_ms": 10**400}}))
@example(write({"settings": {"stream_deadline_ms": 10**400}}))
@example(write({"settings": {"clean_off": ["a\nb"]}}))
def test_an_odd_value_anywhere_is_read_or_refused(line: str) -> None:
    lines = [line, '{"chunk": {"type": "text", "content": "Hello.\\n\\n"}}', '{"end": true}']
    try:
        trace = read_trace(lines)
    except BadTrace as error:
        check_refusal(str(error))
        printed(lines, code=2)
        return
    json.loads(json.dumps(look_at(trace)), parse_constant=pytest.fail)
    printed(lines, code=0)
    again = read_trace(list(trace_lines(trace.moments)))
    assert [one.at for one in again.moments] == [one.at for one in trace.moments]


def check_refusal(told: str) -> None:
    assert told.startswith("line ")
    assert len(told.splitlines()) == 1


def printed(lines: list[str], *, code: int) -> None:
    """`minamo replay` prints it on a terminal that takes UTF-8 and nothing else."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        Path(file.name).write_text("\n".join(lines), encoding="utf-8")
        for options in (["--json"], []):
            out = io.TextIOWrapper(io.BytesIO(), "utf-8")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                assert main(["replay", *options, file.name]) == code
            out.flush()


def test_what_is_written_down_can_be_read() -> None:
    moments = [Moment(1e9, "chunk", TextChunk("a")), Moment(1e9, "end")]
    assert list(read_trace(list(trace_lines(moments))).moments) == moments
