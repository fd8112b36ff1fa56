"""The log: one line when a stream begins, one when it ends; and redaction of hikari's log.

    INFO minamo.stream stream 5d0c ended: completed (3 messages in 4.2 s)

Searchable fields are in the log record (`record.minamo["status"]` …), as JSON formatters expect
them.  User and model text is never logged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from attrs import frozen

from minamo.core.chunks import ErrorChunk
from minamo.core.redact import shorten
from minamo.core.result import Status, StreamResult
from minamo.shell.telemetry.telemetry import StreamInfo

# More shards in one process are not covered; no practical bot has them.
_SHARDS_MAX = 64
# The loggers that print routes, buckets or bodies; each shard has its own logger.
_LOGGERS = (
    "hikari.ratelimits",
    "hikari.rest",
    *(f"hikari.gateway.{shard}" for shard in range(_SHARDS_MAX)),
)
# A token follows the id in a path ("/webhooks/1/…", "/interactions/1/…") and in a bucket ("1:…");
# in JSON it is the value of "token".
_TOKEN = re.compile(
    r"(/(?:webhooks|interactions)/\d{1,20}/|\b\d{1,20}:|\"token\":\s?\")[\w.=-]{16,}"
)


def _hush(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    hushed = _TOKEN.sub(r"\1***", said)
    if hushed != said:
        record.msg, record.args = hushed, ()
    return True


def redact_hikari_logs() -> None:
    """Install the redaction filter on hikari's loggers.  Idempotent."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hush)


_LOG = logging.getLogger("minamo.stream")
_TOOLS = logging.getLogger("minamo.tools")

# Logged as warnings; a stop or a follow-up is what the user wanted.
_ALARMING: tuple[Status, ...] = ("error", "timeout")
# Maximum length of a finish reason that is not one of the usual words.
_WORD_MAX = 64


@frozen
class StreamLog:
    """The telemetry backend for the standard `logging`."""

    def stream_started(self, info: StreamInfo) -> _Line:
        """Log the beginning at debug level."""
        fields = _known(info)
        _LOG.debug("stream %s begins", info.stream_id, extra={"minamo": fields})
        return _Line(info.stream_id, fields)

    def tool_started(self, name: str, call_id: str = "") -> _ToolLine:  # noqa: ARG002
        """Return a handle that logs the end; the beginning is not logged."""
        return _ToolLine(name)


@frozen
class _Line:
    stream_id: str
    fields: Mapping[str, object]

    def ended(self, result: StreamResult) -> None:
        fields = {**self.fields, "status": result.status, **_outcome(result), **result.metrics}
        # Messages withdrawn before they were sent are not lost: they were no longer wanted.
        lost = sum(1 for one in result.receipts if one.outcome in ("refused", "unknown"))
        if lost:
            fields["lost"] = lost
        reason = fields.get("error") or result.stop_reason
        _LOG.log(
            logging.WARNING if lost or result.status in _ALARMING else logging.INFO,
            "stream %s ended: %s%s (%d messages in %.1f s)",
            self.stream_id,
            result.status,
            f", {reason}" if reason else "",
            result.metrics.get("messages", 0),
            result.metrics.get("duration_ms", 0.0) / 1000,
            extra={"minamo": fields},
        )

    def cancelled(self) -> None:
        fields = {**self.fields, "status": "cancelled"}
        _LOG.info("stream %s was cancelled", self.stream_id, extra={"minamo": fields})


@frozen
class _ToolLine:
    name: str

    def ended(self, problem: str = "") -> None:
        fields = {"tool": self.name, "problem": problem}
        _TOOLS.debug(
            "tool %s ended%s", self.name, problem and f": {problem}", extra={"minamo": fields}
        )


def _known(info: StreamInfo) -> dict[str, object]:
    fields: dict[str, object] = {"stream_id": info.stream_id, "channel_id": info.channel_id}
    if info.provider:
        fields["provider"] = info.provider
    if info.model:
        fields["model"] = info.model
    return fields


def _outcome(result: StreamResult) -> dict[str, object]:
    fields: dict[str, object] = {}
    if result.stop_reason:
        fields["stop_reason"] = result.stop_reason
    if isinstance(result.data, ErrorChunk):
        fields["error"] = result.data.kind  # not its message: providers quote the request
    if result.finish_reason:
        fields["finish_reason"] = shorten(result.finish_reason, _WORD_MAX)
    if result.usage is not None:
        fields["input_tokens"] = result.usage.input_tokens
        fields["output_tokens"] = result.usage.output_tokens
    return fields
