"""Who is told of streams: the log, several at once, nobody.  Never a word that people wrote."""

from __future__ import annotations

import logging

import pytest

from minamo.core.chunks import ErrorChunk, Usage
from minamo.core.messages import Receipt
from minamo.core.result import StreamResult
from minamo.shell.telemetry.telemetry import (
    NoTelemetry,
    StreamInfo,
    StreamLog,
    TelemetryFanOut,
    provider_name,
)

INFO = StreamInfo(stream_id="5d0c", channel_id=7, provider="openai", model="m-1")
SECRET = "what people said"


def result(status: str = "completed", **more: object) -> StreamResult:
    return StreamResult(
        status=status,  # type: ignore[arg-type]
        accumulated_text=SECRET,
        details_content=SECRET,
        thought_log=(SECRET,),
        continuation_prefill=SECRET,
        metrics={"messages": 3, "duration_ms": 4200.0, "total_chunks": 20},
        **more,  # type: ignore[arg-type]
    )


def lines(caplog: pytest.LogCaptureFixture, ended: StreamResult | None) -> list[logging.LogRecord]:
    caplog.set_level(logging.DEBUG, "minamo")
    handle = StreamLog().stream_started(INFO)
    if ended is None:
        handle.cancelled()
    else:
        handle.ended(ended)
    everything = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    assert not any(SECRET in one for one in everything)
    return caplog.records


def test_a_stream_is_two_lines_with_fields(caplog: pytest.LogCaptureFixture) -> None:
    usage = Usage(input_tokens=10, output_tokens=20)
    began, ended = lines(caplog, result(finish_reason="stop" + "p" * 100, usage=usage))
    assert (began.levelname, began.getMessage()) == ("DEBUG", "stream 5d0c begins")
    assert (ended.levelname, ended.name) == ("INFO", "minamo.stream")
    assert ended.getMessage() == "stream 5d0c ended: completed (3 messages in 4.2 s)"
    assert ended.minamo == {
        "stream_id": "5d0c", "channel_id": 7, "provider": "openai", "model": "m-1",
        "status": "completed", "finish_reason": "stop" + "p" * 59 + "…",
        "input_tokens": 10, "output_tokens": 20,
        "messages": 3, "duration_ms": 4200.0, "total_chunks": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "reason", "level"),
    [
        ("completed", None, "INFO"),
        ("function_call", None, "INFO"),
        ("empty_response", None, "INFO"),
        ("stopped_by_user", "user_request", "INFO"),
        ("follow_up_interrupt", "follow_up", "INFO"),
        ("timeout", "inactivity", "WARNING"),
        ("error", "delivery_lost", "WARNING"),
    ],
)
def test_only_what_somebody_should_look_at_is_a_warning(
    caplog: pytest.LogCaptureFixture, status: str, reason: str | None, level: str
) -> None:
    *_, ended = lines(caplog, result(status, stop_reason=reason))
    assert ended.levelname == level
    assert ended.minamo.get("stop_reason") == reason


def test_an_error_is_told_by_its_kind_because_providers_quote(
    caplog: pytest.LogCaptureFixture,
) -> None:
    *_, ended = lines(caplog, result("error", data=ErrorChunk("rate_limit", SECRET)))
    assert ended.getMessage().startswith("stream 5d0c ended: error, rate_limit (")
    assert ended.minamo["error"] == "rate_limit"


@pytest.mark.parametrize(
    ("outcome", "level"), [("refused", "WARNING"), ("unknown", "WARNING"), ("not_sent", "INFO")]
)
def test_a_lost_message_is_a_warning_unless_it_was_taken_back(
    caplog: pytest.LogCaptureFixture, outcome: str, level: str
) -> None:
    receipt = Receipt(outcome=outcome, channel_id=7, index=0, characters=5)  # type: ignore[arg-type]
    *_, ended = lines(caplog, result(receipts=(receipt,)))
    assert ended.levelname == level
    assert ("lost" in ended.minamo) == (level == "WARNING")


def test_a_cancelled_stream_and_a_tool_are_told_too(caplog: pytest.LogCaptureFixture) -> None:
    *_, ended = lines(caplog, None)
    assert ended.getMessage() == "stream 5d0c was cancelled"
    StreamLog().tool_started("roll").ended("timeout")
    assert caplog.records[-1].getMessage() == "tool roll ended: timeout"
    StreamLog().tool_started("roll").ended()
    assert caplog.records[-1].getMessage() == "tool roll ended"


class Odd:
    """Somebody's own telemetry, which raises where it is told to."""

    def __init__(self, raises: str) -> None:
        self.raises = raises
        self.told: list[str] = []

    def _note(self, what: str) -> Odd:
        self.told.append(what)
        if what == self.raises:
            raise RuntimeError(what)
        return self

    def stream_started(self, info: StreamInfo) -> Odd:
        return self._note("stream_started")

    def tool_started(self, name: str, call_id: str = "") -> Odd:
        return self._note("tool_started")

    def ended(self, how: object = "") -> Odd:
        return self._note("ended")

    def cancelled(self) -> Odd:
        return self._note("cancelled")


@pytest.mark.parametrize("raises", ["", "stream_started", "tool_started", "ended", "cancelled"])
def test_of_several_one_that_raises_harms_nobody(
    raises: str, caplog: pytest.LogCaptureFixture
) -> None:
    odd, sound = Odd(raises), Odd("")
    each = TelemetryFanOut(odd, NoTelemetry(), sound)
    each.stream_started(INFO).ended(result())
    each.stream_started(INFO).cancelled()
    each.tool_started("roll").ended()
    assert sound.told == [
        "stream_started",
        "ended",
        "stream_started",
        "cancelled",
        "tool_started",
        "ended",
    ]
    assert (f"Odd.{raises} raised" in caplog.text) == bool(raises)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "openai"),
        ("generativelanguage.googleapis.com", "gcp.gemini"),
        ("europe-west1-aiplatform.googleapis.com", "gcp.vertex_ai"),
        ("somebody.openai.azure.com", "azure.ai.openai"),
        ("API.Anthropic.com.", "anthropic"),
        ("openrouter.ai", "openrouter.ai"),
        ("evilapi.openai.com.example", "evilapi.openai.com.example"),
        ("notapi.x.ai", "notapi.x.ai"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_providers_have_the_names_of_the_conventions(host: str, name: str) -> None:
    assert provider_name(host) == name
