"""Metrics, and spans and metrics of OpenTelemetry: what is told, and what never is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import anyio
import pytest
from attrs import evolve
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from minamo.core.chunks import TOKENS_MAX, DoneChunk, ErrorChunk, TextChunk, Usage
from minamo.core.messages import Receipt
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import Rejected
from minamo.shell.telemetry import otel
from minamo.shell.telemetry.metrics import StreamMetrics, together
from minamo.shell.telemetry.otel import OpenTelemetry
from minamo.shell.telemetry.telemetry import StreamInfo
from support.driver import END, KILL, USER, Discord, Drive, Provider, one, plain, unpaced
from support.fake_discord import run_with_virtual_clock

INFO = StreamInfo(
    stream_id="5d0c", channel_id=7, provider="openai", model="m-1", host="api.openai.com", port=443
)
SECRET = "what people said"


class Collected:
    """What an SDK was told."""

    def __init__(self) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])
        self.telemetry = OpenTelemetry(tracer_provider=self.tracers, meter_provider=self.meters)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    @property
    def points(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def everything(self) -> str:
        return " ".join(span.to_json() for span in self._spans.get_finished_spans()) + str(
            self.points
        )

    def close(self) -> None:
        self.tracers.shutdown()
        self.meters.shutdown()


@pytest.fixture
def collected() -> Any:
    made = Collected()
    yield made
    made.close()


def told(collected: Collected, *said: Any, info: StreamInfo = INFO, **options: Any) -> StreamResult:
    """Drive a real stream, then tell of it as a driver would have, on the same clock."""
    run = one(Provider(list(said)), plain(), pacer=unpaced(), **options)
    meter = StreamMetrics(0.0)
    for event in run.log:
        meter.watch(*event)
    result = evolve(run.settled, metrics=meter.figures())

    async def story() -> None:
        began = anyio.current_time()
        assert began == 0
        handle = collected.telemetry.stream_started(info)
        handle.ended(result)

    run_with_virtual_clock(story)
    return result


def test_counts_beyond_all_reason_are_told_all_the_same(collected: Collected) -> None:
    """OpenTelemetry's numbers have 64 bits; one that does not fit would take its span with it."""
    usage = Usage(input_tokens=10**30, output_tokens=-1, cached_tokens=10**400)
    told(
        collected, (0.5, "Hi."), (2.0, DoneChunk(finish_reason="x" * 999, usage=usage)), (3.0, END)
    )
    attributes = collected.spans["chat m-1"].attributes or {}
    assert attributes["gen_ai.usage.input_tokens"] == TOKENS_MAX
    assert attributes["gen_ai.usage.output_tokens"] == 0
    assert attributes["gen_ai.response.finish_reasons"] == ("x" * 63 + "…",)


def test_a_reply_is_a_trace_by_the_conventions(collected: Collected) -> None:
    usage = Usage(input_tokens=12, output_tokens=34, cached_tokens=5, reasoning_tokens=6)
    done = DoneChunk(finish_reason="stop", usage=usage)
    told(collected, (0.5, f"{SECRET}.\n\n"), (1.0, "Two."), (2.0, done), (3.0, END))
    spans = collected.spans
    stream, chat, message = spans["stream"], spans["chat m-1"], spans["discord create"]
    assert chat.kind is SpanKind.CLIENT
    assert chat.parent == message.parent == stream.context
    assert stream.parent is None
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m-1",
        "gen_ai.request.stream": True,
        "server.address": "api.openai.com",
        "server.port": 443,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": 0.5,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 34,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 6,
    }
    assert stream.attributes is not None
    assert stream.attributes["minamo.stream.status"] == "completed"
    assert stream.attributes["minamo.stream.total_chunks"] == 3
    assert {span.status.status_code for span in spans.values()} == {StatusCode.UNSET}
    assert SECRET not in collected.everything()


def test_each_message_is_a_span_that_took_as_long_as_its_call(collected: Collected) -> None:
    told(collected, (0.5, "One.\n\n"), (1.0, "Two."), (3.0, END), discord=Discord(latency_s=0.25))
    messages = [
        span for span in collected._spans.get_finished_spans() if span.name == "discord create"
    ]
    assert [span.attributes["minamo.message.index"] for span in messages] == [0, 1]
    chat = collected.spans["chat m-1"]
    for span, sent_s in zip(messages, (1.0, 3.0), strict=True):
        assert (span.end_time - span.start_time) / 1e9 == pytest.approx(0.25, abs=1e-3)
        assert (span.start_time - chat.start_time) / 1e9 == pytest.approx(sent_s, abs=0.05)
    assert (chat.end_time - chat.start_time) / 1e9 == pytest.approx(3.0, abs=0.05)


def test_the_metrics_of_the_conventions(collected: Collected) -> None:
    done = DoneChunk(finish_reason="stop", usage=Usage(input_tokens=12, output_tokens=34))
    told(collected, (0.5, "One."), (2.0, done), (3.0, END))
    points = collected.points
    shared = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m-1",
        "server.address": "api.openai.com",
        "server.port": 443,
    }
    (duration,) = points["gen_ai.client.operation.duration"]
    assert (duration.sum, duration.attributes) == (3.0, shared)
    assert duration.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert duration.explicit_bounds[-1] == pytest.approx(81.92)
    (first,) = points["gen_ai.client.operation.time_to_first_chunk"]
    assert first.sum == 0.5
    tokens = {
        point.attributes["gen_ai.token.type"]: point
        for point in points["gen_ai.client.token.usage"]
    }
    assert {kind: point.sum for kind, point in tokens.items()} == {"input": 12, "output": 34}
    assert tokens["input"].explicit_bounds[-1] == 67108864
    (messages,) = points["minamo.messages"]
    assert (messages.value, messages.attributes) == (1, {"kind": "create", "outcome": "delivered"})
    assert "minamo.stop.latency" not in points


def test_a_provider_that_fails_is_an_error_of_the_chat_and_the_stream(collected: Collected) -> None:
    told(collected, (0.5, ErrorChunk("rate_limit", SECRET, status=429)))
    for name in ("chat m-1", "stream"):
        span = collected.spans[name]
        assert span.attributes["error.type"] == "rate_limit"
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
    (duration,) = collected.points["gen_ai.client.operation.duration"]
    assert duration.attributes["error.type"] == "rate_limit"
    assert SECRET not in collected.everything()


def test_a_timeout_says_which_clock(collected: Collected) -> None:
    told(collected, (0.5, "One."))
    assert collected.spans["chat m-1"].attributes["error.type"] == "inactivity"


def test_a_lost_message_is_discord_s_fault_and_not_the_provider_s(collected: Collected) -> None:
    no = Discord(script=lambda *_: Rejected("no_permission"))
    told(collected, (0.5, "One.\n\n"), (5.0, "Two."), (9.0, END), discord=no)
    spans = collected.spans
    assert spans["discord create"].attributes["error.type"] == "no_permission"
    assert spans["stream"].attributes["error.type"] == "delivery_lost"
    assert "error.type" not in spans["chat m-1"].attributes


def test_a_stop_is_no_error_and_its_latency_is_measured(collected: Collected) -> None:
    told(collected, (0.5, "One."), happenings=[(2.0, USER)])
    stream = collected.spans["stream"]
    assert stream.attributes["minamo.stream.stop_reason"] == "user_request"
    assert stream.status.status_code is StatusCode.UNSET
    (latency,) = collected.points["minamo.stop.latency"]
    assert (latency.count, latency.sum) == (1, 0)


def test_what_is_unknown_is_not_made_up(collected: Collected) -> None:
    told(collected, (0.5, END), info=StreamInfo(stream_id="s", channel_id=7))
    assert collected.spans["chat"].attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "unknown",
        "gen_ai.request.stream": True,
    }
    assert "gen_ai.client.token.usage" not in collected.points


def test_a_tool_is_a_span_in_the_caller_s(collected: Collected) -> None:
    tracer = collected.tracers.get_tracer("mine")
    with tracer.start_as_current_span("turn") as turn:
        collected.telemetry.tool_started("roll", "call-1").ended()
        collected.telemetry.tool_started("look").ended("timeout")
    roll, look = collected.spans["execute_tool roll"], collected.spans["execute_tool look"]
    assert roll.parent == look.parent == turn.get_span_context()
    assert roll.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "roll",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
    }
    assert look.attributes["error.type"] == "timeout"
    assert look.status.status_code is StatusCode.ERROR


def test_a_cancelled_stream_ends_its_spans(collected: Collected) -> None:
    async def story() -> None:
        collected.telemetry.stream_started(INFO).cancelled()

    run_with_virtual_clock(story)
    assert collected.spans["stream"].attributes["minamo.stream.status"] == "cancelled"
    assert collected.spans["chat m-1"].end_time is not None


def test_without_the_extra_the_error_names_it() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['opentelemetry'] = None\n"
            "from minamo.shell.telemetry.otel import OpenTelemetry\n"
            "OpenTelemetry()",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stderr.strip().endswith(
        "BadSetting: OpenTelemetry is not installed: pip install 'hikari-minamo[otel]'"
    )


def test_importing_it_does_not_import_opentelemetry() -> None:
    code = "import sys, minamo.shell.telemetry.otel; print('opentelemetry' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
    assert otel.OpenTelemetry is OpenTelemetry


def figures(run: Drive) -> dict[str, float]:
    meter = StreamMetrics(0.0)
    for told in run.log:
        meter.watch(*told)
    return meter.figures()


def test_a_stream_that_went_well() -> None:
    said = [(0.5, "One.\n\n"), (1.0, "Two.\n\n"), (2.0, "Three."), (3.0, END)]
    told = figures(one(Provider(said), plain(degree=1), pacer=unpaced()))
    assert told == {
        "total_chunks": 3,
        "total_characters": 18,
        "messages": 3,
        "calls": 3,
        "time_to_first_chunk_ms": 500,
        "time_to_first_visible_ms": 1100,
        "decided_after_ms": 3000,
        "duration_ms": 3100,
        "waited_for_provider_ms": 3000,
        "waited_for_discord_ms": 100,
    }


def test_what_did_not_happen_has_no_key() -> None:
    told = figures(one(Provider([(1.0, END)]), plain()))
    assert set(told) == {
        "total_chunks", "total_characters", "decided_after_ms", "duration_ms",
        "waited_for_provider_ms", "waited_for_discord_ms",
    }  # fmt: skip
    assert StreamMetrics(5.0).figures() == {"total_chunks": 0, "total_characters": 0}


@pytest.mark.parametrize("wish", [USER, KILL])
def test_a_stop_is_measured_from_the_wish(wish: object) -> None:
    run = one(Provider([(0.5, "One. ")]), plain(), [(2.0, wish), (2.0, KILL)], pacer=unpaced())
    told = figures(run)
    assert told["stop_latency_ms"] == 0
    assert told["stop_settled_ms"] == (0 if wish is KILL else told["duration_ms"] - 2000)


def test_a_stop_after_the_decision_has_no_latency_to_decide() -> None:
    slow = Discord(latency_s=3.0)
    run = one(Provider([(0.5, "One."), (1.0, END)]), plain(), [(2.0, USER)], discord=slow)
    told = figures(run)
    assert "stop_latency_ms" not in told
    assert told["stop_settled_ms"] == 2000


def test_waiting_for_a_full_lane_counts_as_discord_s() -> None:
    # More than a lane holds, at once: the provider is not asked for more until there is room.
    said = [(0.0, "x" * 990 + "\n\n") for _ in range(12)]
    run = one(Provider([*said, (1.0, END)]), plain(), discord=Discord(latency_s=2.0))
    told = figures(run)
    full = sum(at if what == "room" else -at for at, what, _ in run.log if what in ("full", "room"))
    assert full > 0
    assert told["waited_for_provider_ms"] == pytest.approx(told["decided_after_ms"] - full * 1000)
    assert told["waited_for_provider_ms"] + told["waited_for_discord_ms"] == pytest.approx(
        told["duration_ms"]
    )


def test_a_kill_while_the_lane_is_full_ends_the_waiting_too() -> None:
    said = [(0.0, "x" * 990 + "\n\n") for _ in range(12)]
    run = one(Provider(said), plain(), [(3.0, KILL)], discord=Discord(latency_s=10.0))
    assert (run.at("full"), run.at("decided")) == (0, 3)
    told = figures(run)
    assert told["waited_for_provider_ms"] == 0
    assert told["waited_for_discord_ms"] == told["duration_ms"]


def test_only_what_was_delivered_is_a_message() -> None:
    no = Discord(script=lambda number, _: Rejected("no_permission") if number == 2 else None)
    said = [(0.5, "One.\n\n"), (5.0, "Two.\n\n"), (9.0, END)]
    told = figures(one(Provider(said), plain(), discord=no, pacer=unpaced()))
    assert (told["messages"], told["calls"]) == (1, 2)


def test_messages_edits_and_calls_are_counted() -> None:
    meter = StreamMetrics(1.0)
    meter.watch(1.5, "chunk", TextChunk("four"))
    meter.watch(1.7, "chunk", TextChunk("five"))
    shared = {"outcome": "delivered", "channel_id": 1, "index": 0, "characters": 4}
    for kind in ("create", "edit", "edit", "delete"):
        meter.watch(2.0, "receipt", Receipt(**shared, kind=kind, attempts=2, settled_at=2.0))
    told = meter.figures()
    assert (told["messages"], told["edits"], told["calls"]) == (1, 2, 8)
    assert told["time_to_first_visible_ms"] == 1000
    assert str(meter) == "<StreamMetrics: 2 chunks, 1 messages>"


def test_the_streams_of_a_turn_are_added_up_but_the_first_sight_is_the_first_one_s() -> None:
    first = {"total_chunks": 3, "time_to_first_chunk_ms": 10, "duration_ms": 100, "messages": 1}
    second = {"total_chunks": 4, "time_to_first_chunk_ms": 90, "time_to_first_visible_ms": 5}
    assert together([first, second]) == {
        "total_chunks": 7,
        "time_to_first_chunk_ms": 10,
        "duration_ms": 100,
        "messages": 1,
    }
    assert together([]) == {}


def test_a_chunk_costs_less_than_a_microsecond(figure: Callable[[str], None]) -> None:
    meter, chunk, count = StreamMetrics(0.0), TextChunk("hello"), 5_000

    def cost(tell: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(15):  # the best of several: others use the machine too
            began = perf_counter_ns()
            for _ in range(count):
                tell()
            best = min(best, (perf_counter_ns() - began) / count / 1000)
        return best

    loop = cost(lambda: None)
    watched = cost(lambda: meter.watch(1.0, "chunk", chunk)) - loop
    figure(f"meter: {watched:.2f} µs per chunk")
    assert watched <= 1
