"""Streams in the log: a line when one begins, a line when it ends, each with fields to search by.

    INFO minamo.stream stream 5d0c ended: completed (3 messages in 4.2 s)

The fields are attributes of the log record (`record.minamo["status"]` …), as JSON formatters take
them.  No word that people or models wrote is in there.
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

# A bot with more shards than this in one process has other worries.
_SHARDS_MAX = 64
# Those that name routes and buckets or show bodies; each shard has a logger of its own.
_LOGGERS = (
    "hikari.ratelimits",
    "hikari.rest",
    *(f"hikari.gateway.{shard}" for shard in range(_SHARDS_MAX)),
)
# After the id, in a path ("/webhooks/1/…", "/interactions/1/…") and in a bucket ("1:…"); and in
# JSON, under its name.
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
    """Do so from now on; doing it twice is the same."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hush)


_LOG = logging.getLogger("minamo.stream")
_TOOLS = logging.getLogger("minamo.tools")

# What somebody should look at; a stop or a follow-up is what people wanted.
_ALARMING: tuple[Status, ...] = ("error", "timeout")
# A provider's own words, where it has none of the few that are usual.
_WORD_MAX = 64


@frozen
class StreamLog:
    """Telemetry for the standard `logging`."""

    def stream_started(self, info: StreamInfo) -> _Line:
        """Log the beginning, for those who debug."""
        fields = _known(info)
        _LOG.debug("stream %s begins", info.stream_id, extra={"minamo": fields})
        return _Line(info.stream_id, fields)

    def tool_started(self, name: str, call_id: str = "") -> _ToolLine:  # noqa: ARG002
        """Nothing yet; the end says it all."""
        return _ToolLine(name)


@frozen
class _Line:
    stream_id: str
    fields: Mapping[str, object]

    def ended(self, result: StreamResult) -> None:
        fields = {**self.fields, "status": result.status, **_outcome(result), **result.metrics}
        # What was taken back in time is not lost: nobody wanted it any more.
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
        fields["error"] = result.data.kind  # not its message: providers quote what was sent
    if result.finish_reason:
        fields["finish_reason"] = shorten(result.finish_reason, _WORD_MAX)
    if result.usage is not None:
        fields["input_tokens"] = result.usage.input_tokens
        fields["output_tokens"] = result.usage.output_tokens
    return fields
