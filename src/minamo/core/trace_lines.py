"""Write chunks down in the form of a trace."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from minamo.core.chunks import Chunk, Error, FunctionCall, Text, Usage


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
