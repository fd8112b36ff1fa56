"""Write a stream down in the form of a trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import asdict

from minamo.core.chunks import Chunk, Error, FunctionCall, Text, Usage
from minamo.core.trace import Moment


def trace_lines(moments: Iterable[Moment]) -> Iterator[str]:
    """The lines of *moments*, without a settings line; reading them back gives the same life."""
    now = 0.0
    for moment in moments:
        # A stop with the time of a chunk would be taken before it; without one it stays here.
        timed = moment.first or moment.at != now or moment.event == "chunk"
        yield json.dumps({**({"t": moment.at} if timed else {}), **_moment_record(moment)})
        now = moment.at


def _moment_record(moment: Moment) -> dict[str, Any]:
    if moment.chunk is not None:
        return {"chunk": chunk_record(moment.chunk)}
    if moment.event in ("stop", "follow_up"):
        kind = "user" if moment.event == "stop" else "follow_up"
        return {"stop": _filled({"kind": kind, "requester": moment.requester})}
    return {moment.event: True}


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """What stands behind ``"chunk":`` in a trace; reading it back gives an equal chunk."""
    record: dict[str, Any] = {"type": chunk.type}
    if isinstance(chunk, Text):
        record["content"] = chunk.content
    elif isinstance(chunk, FunctionCall):
        record["calls"] = [
            _filled({"name": call.name, "arguments": dict(call.arguments), "id": call.id})
            for call in chunk.calls
        ]
    elif isinstance(chunk, Error):
        record |= {"kind": chunk.kind, "message": chunk.message, "retryable": chunk.retryable}
        record |= _filled({"retry_after": chunk.retry_after, "status": chunk.status})
    else:
        record["finish_reason"] = chunk.finish_reason
        record |= _filled({"model": chunk.model, "provider": chunk.provider})
        record |= _filled({"usage": usage_record(chunk.usage)})
    if chunk.thoughts:
        record["thoughts"] = list(chunk.thoughts)
    return record


def usage_record(usage: Usage | None) -> dict[str, int] | None:
    """What is known of the cost, or None."""
    return None if usage is None else _filled(asdict(usage))


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value not in (None, "")}
