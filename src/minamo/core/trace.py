"""Traces: a stream recorded as JSON lines, and their strict reader.

An invalid trace is refused with the number of the line and the problem.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import asdict, fields, frozen

from minamo.core.checks import is_whole, shown
from minamo.core.chunks import (
    Call,
    Chunk,
    Citation,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting, BadTrace


def trace_lines(moments: Iterable[Moment]) -> Iterator[str]:
    """Yield the lines of *moments*, without a settings line; reading them gives equal moments."""
    now = 0.0
    for moment in moments:
        # A stop with the time of a chunk would be read before it; without a time it stays here.
        timed = moment.first or moment.at != now or moment.event == "chunk"
        yield json.dumps({**({"t": moment.at} if timed else {}), **_moment_record(moment)})
        now = moment.at


def _moment_record(moment: Moment) -> dict[str, Any]:
    if moment.chunk is not None:
        return {"chunk": chunk_record(moment.chunk)}
    if moment.event in ("stop", "follow_up"):
        kind = "user" if moment.event == "stop" else "follow_up"
        requester = {} if moment.requester is None else {"requester": moment.requester}
        return {"stop": {"kind": kind, **requester}}
    return {moment.event: True}


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """Return the value of ``"chunk":`` in a trace; reading it back gives an equal chunk."""
    record: dict[str, Any] = {"type": chunk.type}
    if isinstance(chunk, TextChunk):
        record |= {"content": chunk.content, **_sources(chunk.citations)}
    elif isinstance(chunk, FileChunk):
        record |= _filled({"name": chunk.name, "media_type": chunk.media_type})
        record["data"] = base64.b64encode(chunk.data).decode()
    elif isinstance(chunk, FunctionCall):
        record["calls"] = [
            _filled({"name": call.name, "arguments": dict(call.arguments), "id": call.id})
            for call in chunk.calls
        ]
        record |= _sources(chunk.citations) | _count(chunk.skipped)
    elif isinstance(chunk, ErrorChunk):
        record |= {"kind": chunk.kind, "message": chunk.message, "retryable": chunk.retryable}
        record |= _filled({"retry_after": chunk.retry_after, "status": chunk.status})
    else:
        record["finish_reason"] = chunk.finish_reason
        record |= _filled({"raw_finish_reason": chunk.raw_finish_reason})
        record |= _filled({"model": chunk.model, "provider": chunk.provider})
        record |= _filled({"usage": usage_record(chunk.usage)})
        record |= _sources(chunk.citations) | _count(chunk.skipped)
    if chunk.thoughts:
        record["thoughts"] = list(chunk.thoughts)
    return record


def _sources(citations: tuple[Citation, ...]) -> dict[str, Any]:
    if not citations:
        return {}
    found = [
        _filled({"url": source.url, "title": source.title})
        | ({"places": [list(place) for place in source.places]} if source.places else {})
        for source in citations
    ]
    return {"citations": found}


def _count(skipped: int) -> dict[str, int]:
    return {"skipped": skipped} if skipped else {}


def usage_record(usage: Usage | None) -> dict[str, int] | None:
    """Return the known token counts, or None."""
    return None if usage is None else _filled(asdict(usage))


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value not in (None, "")}


#: Settings allowed in a trace: every setting of a stream that replay can honour.
SETTINGS = (
    "degree", "max_message_length", "flush_buffer_size", "flush_buffer_size_code_block",
    "send_message_limit", "inactivity_timeout_ms", "first_token_timeout_ms", "stream_deadline_ms",
    "suppress_text_output", "overlap_removal", "tables", "humanize", "clean_off", "bot_name",
    "speaker_names", "generic_speaker_guard", "guard_first_line", "mentions", "prefill",
    "show_citations",
)  # fmt: skip

# Thirty years: longer than any stream, and small enough that every float of it is exact to a
# microsecond.
SECONDS_MAX = 1e9
# Schemas nest five or six deep, and so do the arguments of calls.  Code that walks or writes a
# line recursively must survive this depth.
DEPTH_MAX = 64

_ERROR_KINDS = (
    "api_error", "rate_limit", "content_blocked", "timeout", "provider_overloaded", "model_error",
)  # fmt: skip
# Message for JSON nested deeper than `DEPTH_MAX`.
_TOO_DEEP = "not JSON that anyone would write: nested too deeply"
_CITATION = ("url", "title", "places")
_EVENTS = ("chunk", "stop", "kill", "delivery_lost", "end")
_CHUNKS = {
    "text": ("content", "citations"),
    "file": ("name", "media_type", "data"),
    "function_call": ("name", "arguments", "calls", "id", "citations", "skipped"),
    "error": ("kind", "message", "retryable", "retry_after", "status"),
    "done": (
        "finish_reason",
        "raw_finish_reason",
        "usage",
        "model",
        "provider",
        "citations",
        "skipped",
    ),
}


@frozen(slots=True)
class Moment:
    """One line: an event and its time (seconds from the start)."""

    at: float
    event: str
    """``chunk``, ``stop``, ``follow_up``, ``kill``, ``delivery_lost`` or ``end``."""
    chunk: Chunk | None = None
    requester: str | None = None
    first: bool = False
    """Processed before a chunk of the same time."""


@frozen(slots=True)
class Trace:
    """A whole trace: settings, and moments in order."""

    config: StreamConfig
    moments: tuple[Moment, ...]


def read_trace(lines: Iterable[str]) -> Trace:
    """Read a trace from its lines.

    Raises:
        BadTrace: naming the line and what is wrong.
    """
    config = StreamConfig(humanize=False)
    moments: list[Moment] = []
    now, begun = 0.0, False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _object(_parse(line), "a line")
            if "settings" in record:
                config = _settings(record, first=not begun)
            else:
                moments.append(_moment(record, now))
                now = moments[-1].at
        except (BadTrace, BadSetting) as error:
            raise BadTrace(f"line {number}: {error}") from None
        begun = True
    # A stable sort: otherwise the written order is kept.
    return Trace(config, tuple(sorted(moments, key=lambda moment: (moment.at, not moment.first))))


def _parse(line: str) -> object:
    try:
        value = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise BadTrace(_TOO_DEEP) from None
    except ValueError as error:
        raise BadTrace(f"not JSON: {error}") from None
    _check_depth(value)
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    """Return the number; refuse one like 1e400, which would be written as `Infinity`, no JSON."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:20]} is too large a number")
    return value


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            item
            for node in level
            for item in (
                node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
            )
        ]
        if not level:
            return
    raise BadTrace(_TOO_DEEP)


def _settings(record: Mapping[str, Any], *, first: bool) -> StreamConfig:
    if not first:
        raise BadTrace("settings come on the first line only")
    value = _only(record, ("settings",), "a settings line")["settings"]
    given = _only(_object(value, "settings"), SETTINGS, "settings")
    return StreamConfig(**{"humanize": False, **given})


def _moment(record: Mapping[str, Any], now: float) -> Moment:
    _only(record, ("t", *_EVENTS), "a line")
    named = [name for name in _EVENTS if name in record]
    if len(named) != 1:
        raise BadTrace(f"a line has exactly one of {', '.join(_EVENTS)}; this has {len(named)}")
    at = record.get("t", now)
    if isinstance(at, bool) or not isinstance(at, int | float) or at < 0:
        raise BadTrace(f"t must be a number of seconds, 0 or more; it is {shown(at)}")
    if at > SECONDS_MAX:
        raise BadTrace(f"t must be at most {SECONDS_MAX:.0f} seconds; it is {shown(at)}")
    if at < now:
        raise BadTrace(f"t goes backwards: {at} after {now}")
    event, value = named[0], record[named[0]]
    if event == "chunk":
        return Moment(float(at), event, chunk=_chunk(value))
    if event == "stop":
        # Without its own time a stop comes right after the line before it; with the time of a
        # chunk it comes before that chunk is processed.
        return _stop(float(at), value, first="t" in record)
    if value is not True:
        raise BadTrace(f"{event} must be true; it is {shown(value)}")
    return Moment(float(at), event, first=event == "kill" and "t" in record)


def _stop(at: float, value: object, *, first: bool) -> Moment:
    stop = _only(_object(value, "stop"), ("kind", "requester", "context"), "a stop")
    kind = stop.get("kind")
    if kind not in ("user", "follow_up"):
        raise BadTrace(f"a stop's kind must be user or follow_up; it is {shown(kind)}")
    requester = stop.get("requester")
    if requester is not None and not isinstance(requester, str | int):
        raise BadTrace(f"a stop's requester must be an id; it is {shown(requester)}")
    event = "stop" if kind == "user" else "follow_up"
    return Moment(at, event, requester=None if requester is None else str(requester), first=first)


def _chunk(value: object) -> Chunk:
    record = _object(value, "a chunk")
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _CHUNKS:
        raise BadTrace(f"a chunk's type must be one of {', '.join(_CHUNKS)}; it is {shown(kind)}")
    _only(record, ("type", "thoughts", *_CHUNKS[kind]), f"a {kind} chunk")
    thoughts = record.get("thoughts", [])
    if not isinstance(thoughts, list) or not all(isinstance(thought, str) for thought in thoughts):
        raise BadTrace("thoughts must be a list of texts")
    said = tuple(thoughts)
    sources = _citations(record.get("citations", []))
    if kind == "text":
        return TextChunk(_typed(record, "content", str, ""), said, citations=sources)
    if kind == "file":
        return _file(record, said)
    if kind == "function_call":
        skipped = _typed(record, "skipped", int, 0)
        return FunctionCall(_calls(record), said, citations=sources, skipped=skipped)
    if kind == "error":
        return _error(record, said)
    return DoneChunk(
        finish_reason=_typed(record, "finish_reason", str, ""),
        usage=_usage(record.get("usage")),
        model=_typed(record, "model", str, ""),
        provider=_typed(record, "provider", str, ""),
        thoughts=said,
        raw_finish_reason=_typed(record, "raw_finish_reason", str, ""),
        citations=sources,
        skipped=_typed(record, "skipped", int, 0),
    )


def _file(record: Mapping[str, Any], thoughts: tuple[str, ...]) -> FileChunk:
    try:
        data = base64.b64decode(_typed(record, "data", str, ""), validate=True)
    except ValueError:
        raise BadTrace("data must be base64") from None
    names = (_typed(record, "media_type", str, ""), _typed(record, "name", str, "file"))
    return FileChunk(data, *names, thoughts)


def _citations(value: object) -> tuple[Citation, ...]:
    if not isinstance(value, list):
        raise BadTrace(f"citations must be a list; it is {shown(value)}")
    found = []
    for source in value:
        record = _only(_object(source, "a citation"), _CITATION, "a citation")
        url, title = (_typed(record, name, str, "") for name in ("url", "title"))
        places = record.get("places", [])
        if not isinstance(places, list) or not all(map(_is_place, places)):
            raise BadTrace(f"places must be pairs of a start and an end; it is {shown(places)}")
        found.append(Citation(url, title, tuple((start, end) for start, end in places)))
    return tuple(found)


def _is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(is_whole(at, 0) for at in value)


def _error(record: Mapping[str, Any], thoughts: tuple[str, ...]) -> ErrorChunk:
    kind = record.get("kind")
    if kind not in _ERROR_KINDS:
        known = ", ".join(_ERROR_KINDS)
        raise BadTrace(f"an error's kind must be one of {known}; it is {shown(kind)}")
    return ErrorChunk(
        kind=kind,
        message=_typed(record, "message", str, ""),
        retryable=_typed(record, "retryable", bool, False),
        retry_after=_typed(record, "retry_after", (int, float), None),
        status=_typed(record, "status", int, None),
        thoughts=thoughts,
    )


def _calls(record: Mapping[str, Any]) -> tuple[Call, ...]:
    if "calls" in record:
        if "name" in record or not isinstance(record["calls"], list) or not record["calls"]:
            raise BadTrace("calls must be a list of calls, and then there is no name beside it")
        return tuple(_call(_object(call, "a call")) for call in record["calls"])
    return (_call({key: record[key] for key in ("name", "arguments", "id") if key in record}),)


def _call(record: Mapping[str, Any]) -> Call:
    _only(record, ("name", "arguments", "id"), "a call")
    name = _typed(record, "name", str, "")
    if not name:
        raise BadTrace("a call needs a name")
    arguments = _object(record.get("arguments", {}), "a call's arguments")
    return Call(name, arguments, _typed(record, "id", str, ""))


def _usage(value: object) -> Usage | None:
    if value is None:
        return None
    known = tuple(field.name for field in fields(Usage))
    given = _only(_object(value, "usage"), known, "usage")
    return Usage(**{key: _typed(given, key, int, None) for key in given})


def _typed(record: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    value = record.get(key, default)
    fine = value is default or (isinstance(value, kind) and (kind is bool or value is not True))
    if not fine or (isinstance(value, bool) and kind is not bool):
        raise BadTrace(f"{key} has the wrong type: {shown(value)}")
    return value


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadTrace(f"{name} must be a JSON object; it is {shown(value)}")
    return value


def _only(record: Mapping[str, Any], known: tuple[str, ...], name: str) -> Mapping[str, Any]:
    for key in record:
        if key not in known:
            raise BadTrace(f"unknown key {shown(key)} in {name}; known are {', '.join(known)}")
    return record
