"""Traces are read with care, and a bad one is refused with its line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from minamo.cli.main import main
from minamo.core.chunks import (
    Call,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.trace import SETTINGS, Moment, chunk_record, read_trace, trace_lines, usage_record
from minamo.errors import BadTrace
from support.audit import run

TEXT = '{"chunk": {"type": "text", "content": "Hi"}}'


def test_every_kind_of_line_is_read() -> None:
    trace = read_trace(
        [
            '{"settings": {"degree": 2, "clean_off": ["mention"], "speaker_names": ["Bob"], "mentions": {"a": 1}}}',
            '{"t": 0.5, "chunk": {"type": "text", "content": "Hi", "thoughts": ["x"]}}',
            "",
            '{"chunk": {"type": "function_call", "name": "roll", "arguments": {"n": 1}, "id": "c1"}}',
            '{"chunk": {"type": "function_call", "calls": [{"name": "a"}, {"name": "b", "arguments": {}}]}}',
            '{"chunk": {"type": "error", "kind": "rate_limit", "message": "m", "retryable": true, "retry_after": 2}}',
            '{"chunk": {"type": "done", "finish_reason": "stop", "usage": {"input_tokens": 3}, "model": "m"}}',
            '{"chunk": {"type": "file", "name": "a.png", "media_type": "image/png", "data": "AP8="}}',
            '{"chunk": {"type": "file"}}',
            '{"chunk": {"type": "done"}}',
            '{"chunk": {"type": "error", "kind": "timeout"}}',
            '{"t": 2, "stop": {"kind": "follow_up"}}',
            '{"stop": {"kind": "user", "requester": 7}}',
            '{"kill": true}',
            '{"delivery_lost": true}',
            '{"end": true}',
        ]
    )
    assert trace.config.degree == 2
    assert trace.config.clean_off == {"mention"}
    assert trace.config.speaker_names == ("Bob",)
    assert trace.config.mentions == {"a": "1"}
    assert not trace.config.humanize
    events = [(m.at, m.event, m.requester) for m in trace.moments]
    assert events == [
        (0.5, "chunk", None), (0.5, "chunk", None), (0.5, "chunk", None), (0.5, "chunk", None),
        (0.5, "chunk", None), (0.5, "chunk", None), (0.5, "chunk", None), (0.5, "chunk", None), (0.5, "chunk", None), (2.0, "follow_up", None), (2.0, "stop", "7"), (2.0, "kill", None),
        (2.0, "delivery_lost", None), (2.0, "end", None),
    ]  # fmt: skip
    assert [m.chunk for m in trace.moments[:9]] == [
        TextChunk("Hi", ("x",)),
        FunctionCall((Call("roll", {"n": 1}, "c1"),)),
        FunctionCall((Call("a"), Call("b"))),
        ErrorChunk("rate_limit", "m", retryable=True, retry_after=2),
        DoneChunk("stop", Usage(input_tokens=3), "m"),
        FileChunk(b"\0\xff", "image/png", "a.png"),
        FileChunk(b""),
        DoneChunk(),
        ErrorChunk("timeout", "", retryable=False),
    ]


@pytest.mark.parametrize(
    ("told", "events"),
    [
        ('"t": 1, "stop": {"kind": "user"}', ["stop", "chunk"]),
        ('"stop": {"kind": "user"}', ["chunk", "stop"]),
        ('"t": 1, "kill": true', ["kill", "chunk"]),
        ('"kill": true', ["chunk", "kill"]),
        ('"t": 1, "delivery_lost": true', ["chunk", "delivery_lost"]),
        ('"t": 1, "end": true', ["chunk", "end"]),
    ],
)
def test_a_stop_with_the_time_of_a_chunk_comes_first(told: str, events: list[str]) -> None:
    chunk = '{"t": 1, "chunk": {"type": "text", "content": "a"}}'
    assert [m.event for m in read_trace([chunk, f"{{{told}}}"]).moments] == events


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[" * 100_000, "nested too deeply"),
        ('{"kill": ' + "[" * 70 + "]" * 70 + "}", "nested too deeply"),
        ('{"t": NaN, "end": true}', "NaN is no JSON number"),
        ('{"t": 1e400, "end": true}', "1e400 is too large a number"),
        ('{"t": 1e10, "end": true}', "t must be at most 1000000000 seconds; it is 10000000000.0"),
        ('{"t": 1' + "0" * 400 + ', "end": true}', "t must be at most 1000000000 seconds; it is a number far"),
        ("[]", "a line must be a JSON object; it is []"),
        ('{"strange": 1}', "unknown key 'strange' in a line; known are t, chunk, stop, kill"),
        ("{}", "exactly one of chunk, stop, kill, delivery_lost, end; this has 0"),
        ('{"end": true, "kill": true}', "this has 2"),
        ('{"t": -1, "end": true}', "t must be a number of seconds, 0 or more; it is -1"),
        ('{"t": "1", "end": true}', "t must be a number of seconds"),
        ('{"t": true, "end": true}', "t must be a number of seconds"),
        ('{"t": 0.5, "end": true}', "t goes backwards: 0.5 after 1.0"),
        ('{"end": 1}', "end must be true; it is 1"),
        ('{"settings": {}}', "settings come on the first line only"),
        ('{"stop": {"kind": "now"}}', "kind must be user or follow_up; it is 'now'"),
        ('{"stop": {"kind": "user", "requester": []}}', "requester must be an id; it is []"),
        ('{"stop": {"kind": "user", "who": 1}}', "unknown key 'who' in a stop"),
        ('{"stop": true}', "stop must be a JSON object"),
        ('{"chunk": 1}', "a chunk must be a JSON object; it is 1"),
        ('{"chunk": {"type": ["text"]}}', "type must be one of text, file, function_call, error"),
        ('{"chunk": {"type": "txt"}}', "type must be one of text, file, function_call, error"),
        ('{"chunk": {"type": "text", "text": "a"}}', "unknown key 'text' in a text chunk"),
        ('{"chunk": {"type": "text", "content": 1}}', "content has the wrong type: 1"),
        ('{"chunk": {"type": "file", "data": "?"}}', "data must be base64"),
        ('{"chunk": {"type": "file", "name": 1}}', "name has the wrong type: 1"),
        ('{"chunk": {"type": "text", "thoughts": "a"}}', "thoughts must be a list of texts"),
        ('{"chunk": {"type": "text", "thoughts": [1]}}', "thoughts must be a list of texts"),
        ('{"chunk": {"type": "function_call"}}', "a call needs a name"),
        ('{"chunk": {"type": "function_call", "name": "a", "arguments": 1}}',
         "a call's arguments must be a JSON object"),
        ('{"chunk": {"type": "function_call", "calls": []}}', "calls must be a list of calls"),
        ('{"chunk": {"type": "function_call", "calls": [{"name": "a", "x": 1}]}}',
         "unknown key 'x' in a call"),
        ('{"chunk": {"type": "error", "kind": "odd"}}', "kind must be one of api_error"),
        ('{"chunk": {"type": "error", "kind": "timeout", "retryable": 1}}', "retryable has the wrong"),
        ('{"chunk": {"type": "error", "kind": "timeout", "status": true}}', "status has the wrong"),
        ('{"chunk": {"type": "done", "usage": {"odd": 1}}}', "unknown key 'odd' in usage"),
        ('{"chunk": {"type": "done", "usage": {"input_tokens": "1"}}}', "input_tokens has the wrong"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(line: str, message: str) -> None:
    with pytest.raises(BadTrace) as caught:
        read_trace(['{"t": 1, "chunk": {"type": "text", "content": ""}}', "", line])
    assert str(caught.value).startswith("line 3: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('{"degree": 4}', "degree must be a whole number, 0 to 3; it is 4"),
        ('{"degree": true}', "degree must be a whole number"),
        ('{"max_message_length": 99}', "max_message_length must be a whole number, 100 to 2000"),
        ('{"max_message_length": 2001}', "max_message_length must be a whole number, 100 to 2000"),
        ('{"flush_buffer_size": 0}', "flush_buffer_size must be a whole number, 1 or more"),
        ('{"inactivity_timeout_ms": "1"}', "inactivity_timeout_ms must be a whole number"),
        ('{"humanize": 1}', "humanize must be true or false; it is 1"),
        ('{"tables": "pretty"}', "tables must be code, bullets or raw; it is 'pretty'"),
        ('{"clean_off": ["dirt"]}', "clean_off names unknown rules dirt; known are invisible"),
        ('{"clean_off": ["a\\nb"]}', "clean_off names unknown rules 'a\\nb'; known"),
        ('{"stream_deadline_ms": 1' + "0" * 400 + "}", "must be a whole number, 1 to 31536000000"),
        ('{"bot_name": 1}', "bot_name must be text; it is 1"),
        ('{"speaker_names": [1]}', "speaker_names must be a list of texts; it is [1]"),
        ('{"mentions": []}', "mentions must map names to ids; it is []"),
        ('{"mentions": {"a": "b"}}', "mentions must map names without @ to ids"),
        ('{"mentions": {"@a": 1}}', "names without @ to ids; it has '@a': '1'"),
        ('{"mentions": {"": 1}}', "names without @ to ids; it has '': '1'"),
        ('{"colour": 1}', "unknown key 'colour' in settings; known are degree, max_message_length"),
        ("3", "settings must be a JSON object; it is 3"),
    ],
)
def test_a_bad_setting_is_named(settings: str, message: str) -> None:
    with pytest.raises(BadTrace) as caught:
        read_trace([f'{{"settings": {settings}}}'])
    assert str(caught.value).startswith("line 1: ")
    assert message in str(caught.value)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_text(
        '{"chunk": {"type": "text", "content": "Hi <think>plan</think>you.\\n\\n<details>d</details>"}}\n'
        '{"chunk": {"type": "function_call", "name": "roll", "arguments": {"n": 6}}}\n'
    )
    return path


def test_replay_prints_one_json_object_per_file(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(trace), str(trace), "--json"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert json.loads(first) == {
        "status": "function_call",
        "stop_reason": None,
        "messages": ["Hi you."],
        "thoughts": ["plan"],
        "details": ["d"],
        "accumulated_text": "Hi you.",
        "function_calls": [{"name": "roll", "arguments": {"n": 6}}],
        "suppressed": {"marker": 34, "seam": 2},
        "additions": {},
        "states": ["opening", "streaming", "in_think", "streaming", "in_details", "streaming",
                   "calling", "function_call"],
    }  # fmt: skip


def test_replay_reads_well(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(trace)]) == 0
    out = capsys.readouterr().out
    for words in ("function_call", "thought · 4", "plan", "message 1 · 7", "Hi you.", "details",
                  'roll({"n": 6})', "opening > streaming", "characters: marker"):  # fmt: skip
        assert words in out
    assert "\x1b" not in out


def test_replay_dims_on_a_terminal(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["replay", str(trace)]) == 0
    assert "\x1b[2m" in capsys.readouterr().out


def test_a_bad_file_ends_with_two_and_the_others_are_still_run(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, binary = tmp_path / "bad.jsonl", tmp_path / "binary.jsonl"
    bad.write_text(TEXT + "\n{\n")
    binary.write_bytes(b"\xff\xfe")
    files = [str(bad), str(trace), str(tmp_path / "none"), str(binary)]
    assert main(["replay", "--json", *files]) == 2
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    errors = printed.err.splitlines()
    assert errors[0].startswith(f"{bad}: line 2: not JSON")
    assert errors[1].endswith("none: No such file or directory")
    assert len(errors) == 3


def test_replay_reads_standard_input_and_a_byte_order_mark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + TEXT.encode() + b"\r\n"))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["replay", "-", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["stop_reason"]) == ("timeout", "inactivity")
    assert found["messages"] == ["Hi"]


def test_help_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["replay", "--help"])
    out = capsys.readouterr().out
    for name in SETTINGS:
        assert name in out


@pytest.mark.parametrize(
    "chunk",
    [
        TextChunk("Hi", ("a", "b")), TextChunk(),
        FileChunk(b"\0\xff", "image/png", "a.png", ("a",)), FileChunk(b""),
        FunctionCall((Call("roll", {"n": 1}, "c1"), Call("stop"))),
        ErrorChunk("rate_limit", "slow down", retryable=True, retry_after=2.5, status=429),
        ErrorChunk("api_error"),
        DoneChunk("stop", Usage(1, 2, 3, 4), "m", "p", thoughts=("x",)), DoneChunk(),
    ],
)  # fmt: skip
def test_a_chunk_survives(chunk: Chunk) -> None:
    line = json.dumps({"chunk": chunk_record(chunk)})
    assert read_trace([line]).moments[0].chunk == chunk


def test_a_life_survives() -> None:
    life = (
        Moment(0.0, "chunk", TextChunk("Hi")),
        Moment(1.5, "stop", requester="7", first=True),
        Moment(1.5, "chunk", TextChunk("!")),
        Moment(1.5, "stop", requester=""),
        Moment(1.5, "follow_up"),
        Moment(1.5, "kill"),
        Moment(2.0, "delivery_lost"),
        Moment(2.0, "end"),
    )
    assert read_trace(trace_lines(life)).moments == life


def test_usage_names_only_what_is_known() -> None:
    assert usage_record(None) is None
    assert usage_record(Usage(input_tokens=3)) == {"input_tokens": 3}


def test_overlaps_are_removed_only_if_asked_for() -> None:
    chunks = ["The quick brown fox", "brown fox jumps", " over it"]
    assert run(chunks).messages == ("The quick brown foxbrown fox jumps over it",)
    done = run(chunks, overlap_removal=True)
    assert done.messages == ("The quick brown fox jumps over it",)
    assert done.result.suppressed["overlap"] == len("brown fox")
