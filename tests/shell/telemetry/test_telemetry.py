"""Who is told of streams, and that no log or shortened line has a token, a key, or a word that people wrote."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import hikari
import pytest

from minamo.bot.tools import toolbox
from minamo.core.chunks import Call, ErrorChunk, Usage
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.messages import Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.notices.localization import Languages
from minamo.shell.notices.notices import quotable
from minamo.shell.telemetry import telemetry as hushing
from minamo.shell.telemetry.telemetry import (
    NoTelemetry,
    StreamInfo,
    StreamLog,
    TelemetryFanOut,
    _outcome,
    provider_name,
)
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tool_runner import failure
from minamo.twin import Twin
from support.overseer import overseeing

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


LEAKS = pytest.mark.rule_breaking("leaks, to see what hushing does")
TOKEN = "aVeryLongTokenThatNobodyMaySee_-.="


@pytest.mark.parametrize(
    ("logger", "said", "hushed"),
    [
        ("hikari.rest", f"POST /webhooks/12/{TOKEN}", "POST /webhooks/12/***"),
        (
            "hikari.rest",
            f"POST /interactions/12/{TOKEN}/callback",
            "POST /interactions/12/***/callback",
        ),
        (
            "hikari.rest",
            f'{{"id": "1", "token": "{TOKEN}", "x": 1}}',
            '{"id": "1", "token": "***", "x": 1}',
        ),
        ("hikari.gateway.0", f'b\'{{"token":"{TOKEN}"}}\'', 'b\'{"token":"***"}\''),
        ("hikari.ratelimits", f"abc;12:{TOKEN} closed", "abc;12:*** closed"),
        ("hikari.rest", "GET /channels/12/messages at 12:30", "GET /channels/12/messages at 12:30"),
        ("hikari.rest", '{"content": "a token of love"}', '{"content": "a token of love"}'),
    ],
)
def test_p21_tokens_are_taken_out_and_nothing_else(
    logger: str, said: str, hushed: str, caplog: pytest.LogCaptureFixture
) -> None:
    hushing.redact_hikari_logs()
    hushing.redact_hikari_logs()
    caplog.set_level(1)
    caplog.set_level(1, "hikari")
    logging.getLogger(logger).log(5, "%s", said)
    assert caplog.messages == [hushed]


async def use_everything_with_a_token(twin: Twin, bot: hikari.GatewayBot) -> None:
    done = bot.stream(hikari.InteractionCreateEvent, timeout=5)
    with done:
        await twin.slash("ask")
        event = await anext(done)
    assert isinstance(event.interaction, hikari.CommandInteraction)
    await event.interaction.create_initial_response(
        hikari.ResponseType.MESSAGE_CREATE, "here", mentions_everyone=False
    )
    await event.interaction.edit_initial_response("there")
    hook = await bot.rest.create_webhook(twin.channel().id, "Ada")
    await hook.execute("hello")


@pytest.mark.parametrize("is_hushed", [True, False])
@pytest.mark.anyio
@LEAKS
async def test_p21_the_real_hikari_tells_no_token(
    twin: Twin, bot: hikari.GatewayBot, is_hushed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hushing.redact_hikari_logs()
    if not is_hushed:  # as it would be without: the test can fail
        for name in hushing._LOGGERS:
            monkeypatch.setattr(logging.getLogger(name), "filters", [])
    with overseeing() as overseer:
        overseer.twins.append(twin)
        await use_everything_with_a_token(twin, bot)
    leaks = [words for words in overseer.wrongs if "token" in words]
    assert bool(leaks) is not is_hushed, leaks
    if not is_hushed:
        homes = {words.split(": ")[1].split(",")[0] for words in leaks}
        assert {"hikari.rest", "hikari.ratelimits", "hikari.gateway.0"} <= homes


KEY = "sk-live-" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"


def _progress(words: str) -> str:
    said: list[Any] = []
    ToolContext(call=Call("a"), show=said.append).progress(words)
    return str(said[0].text)


def _environment(words: str) -> str:
    with pytest.raises(BadSetting) as caught:
        StreamConfig.from_env({"MAX_MESSAGE_LENGTH": words})
    return str(caught.value)


def _finish(words: str) -> str:
    return str(_outcome(StreamResult(status="completed", finish_reason=words))["finish_reason"])


PLACES: dict[str, Callable[[str], str]] = {
    "an error of a source": lambda words: as_chunk(ErrorChunk("api_error", words))[0].message,  # type: ignore[union-attr]
    "a tool that failed": lambda words: failure(Call("a"), "refused", words).text,
    "progress": _progress,
    "the environment": _environment,
    "the log": _finish,
    "a notice": quotable,
    "a phrase": lambda words: Languages().wording().say("tool_progress", tool=words),
}


@pytest.mark.parametrize("place", PLACES)
def test_p21_a_key_across_the_cut_is_taken_out(place: str) -> None:
    shorten = PLACES[place]
    for before in range(0, 1_100, 3):
        told = shorten("Ä" * before + " " + KEY + " ÄÄÄ")
        assert "live" not in told, (before, told)
        assert "A1b2" not in told, (before, told)


def test_p21_a_file_of_tools_that_raises(tmp_path: Any) -> None:
    file = tmp_path / "tools.py"
    file.write_text(f"raise ValueError('x' * 280 + ' {KEY}')\n")
    with pytest.raises(BadSetting, match=r"line 1: ValueError: x+ \[key\]") as caught:
        toolbox((), file)
    assert "live" not in str(caught.value)
