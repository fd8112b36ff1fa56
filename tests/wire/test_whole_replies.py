"""Answers that are no stream: a reply sent whole, and errors of every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk, TextChunk, Usage
from minamo.wire.errors import from_object, from_status
from support.recordings import adapter, once, read

CALL = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": '{"sides":6}'}}
WHOLE: dict[str, Any] = {
    "openai": {
        "object": "chat.completion", "model": "m1",
        "choices": [{"index": 0, "finish_reason": "tool_calls",
                     "message": {"role": "assistant", "content": "Hi.", "tool_calls": [CALL]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
    "anthropic": {
        "type": "message", "id": "x", "model": "m1", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Hi."},
                    {"type": "tool_use", "id": "c1", "name": "roll", "input": {"sides": 6}}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "google": [
        {"candidates": [{"content": {"parts": [{"text": "H"}]}}], "modelVersion": "m1"},
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [
            {"text": "i."}, {"functionCall": {"name": "roll", "args": {"sides": 6}, "id": "c1"}}]}}],
         "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}},
    ],
    "responses": {
        "object": "response", "status": "completed", "model": "m1", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]},
            {"type": "function_call", "call_id": "c1", "name": "roll", "arguments": '{"sides":6}'}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
}  # fmt: skip


@pytest.mark.parametrize("dialect", WHOLE)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_server_that_ignores_stream_is_read(dialect: str, indent: int | None) -> None:
    said = read(dialect, json.dumps(WHOLE[dialect], indent=indent).encode())

    assert (said.text, said.calls) == ("Hi.", [("roll", {"sides": 6})])
    assert isinstance(said.last, DoneChunk)
    assert (said.last.finish_reason, said.last.model) == ("tool_calls", "m1")
    assert said.last.usage == Usage(3, 2)


def test_a_long_one_too() -> None:
    text = "word " * 100_000
    told = {"choices": [{"message": {"content": text}}]}
    said = once("openai", json.dumps(told).encode())
    assert said.text == text
    assert isinstance(said.last, DoneChunk)
    assert said.last.finish_reason == "stop"


@pytest.mark.parametrize(
    ("dialect", "told"),
    [
        ("openai", {"choices": []}), ("openai", {"choices": [1]}), ("openai", [1]),
        ("anthropic", {"type": "completion"}), ("anthropic", [1]),
        ("google", []), ("google", {"a": 1}), ("google", [1]),
        ("responses", {"object": "list"}), ("responses", [1]),
    ],
)  # fmt: skip
def test_other_json_is_no_reply(dialect: str, told: Any) -> None:
    said = read(dialect, json.dumps(told).encode())
    assert isinstance(said.last, ErrorChunk)


def test_a_whole_reply_may_be_a_failure() -> None:
    failed = {"object": "response", "status": "failed", "error": {"message": "No luck."}}
    assert read("responses", json.dumps(failed).encode()).last == ErrorChunk(
        "api_error", "No luck."
    )
    cut = {"object": "response", "status": "incomplete", "output": [],
           "incomplete_details": {"reason": "max_output_tokens"}}  # fmt: skip
    last = read("responses", json.dumps(cut).encode()).last
    assert isinstance(last, DoneChunk)
    assert last.finish_reason == "length"


DEEP = {"error": {"error": {"error": {"error": {"error": {"message": "too deep"}}}}}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "A"}}, "A"),
        ({"error": "A"}, "A"),
        ({"error": ["A", "B"]}, "A; B"),
        ({"error": {"error": {"message": "A"}}}, "A"),
        ({"errors": [{"message": "A"}, {"detail": "B"}]}, "A; B"),
        ({"message": "A"}, "A"),
        ({"msg": "A"}, "A"),
        ({"error_msg": "A", "error_code": 7}, "A"),
        ({"detail": "A"}, "A"),
        ({"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, "field required"),
        ({"detail": {"error": "A"}}, "A"),
        ({"title": "A", "status": 400}, "A"),
        ({"error": {"code": "bad_thing"}}, "bad_thing"),
        ({"error": None, "message": "A"}, "A"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "A"}}},
         "Provider returned error: A"),
        ([{"error": {"message": "A"}}], "A"),
        ("A", "A"),
        (DEEP, "HTTP 400"),
        (5, "HTTP 400"),
    ],
)  # fmt: skip
def test_error_bodies_of_every_shape(body: Any, message: str) -> None:
    assert from_status(400, json.dumps(body).encode()).message == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"Unauthorized\n", "Unauthorized"),
        (b"<html><head><title>502 Bad Gateway</title></head>", "502 Bad Gateway"),
        (b"<html><body>x", "HTTP 502"),
        (b'{"error": {"mess', "HTTP 502"),
        (b"x" * 2_000, "HTTP 502"),
        (b"", "HTTP 502"),
    ],
)
def test_error_bodies_that_are_not_json(body: bytes, message: str) -> None:
    assert from_status(502, body).message == message


def test_a_null_error_is_an_error_without_words() -> None:
    assert from_object({"error": None}) == ErrorChunk("api_error")


@pytest.mark.parametrize(
    ("dialect", "data"),
    [
        ("openai", b": OPENROUTER PROCESSING\n\n"),
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
        ("anthropic", b"event: ping\ndata: nonsense\n\n"),
        ("responses", b'data: {"type": "keepalive"}\n\n'),
        ("responses", b":\n"),
        ("google", b": ping\n\n"),
    ],
)
def test_a_keep_alive_restarts_the_timeouts_if_wanted(dialect: str, data: bytes) -> None:
    for wanted, chunks in ((True, [TextChunk()]), (False, [])):
        assert adapter(dialect, keep_alive=wanted)._response().read(data) == chunks


@pytest.mark.parametrize(
    ("host", "alive"), [("openrouter.ai", 1), ("api.deepseek.com", 1), ("api.groq.com", 0)]
)
def test_services_that_think_in_silence(host: str, alive: int) -> None:
    from minamo.shell.providers.adapters import OpenAICompatible

    llm = OpenAICompatible(f"https://{host}/v1", model="m", api_key="k" * 20)
    assert len(llm._response().read(b": wait\n\n")) == alive


@pytest.mark.parametrize("dialect", WHOLE)
def test_half_a_character_in_a_whole_reply(dialect: str) -> None:
    told = json.dumps(WHOLE[dialect]).replace("i.", "i \\ud83d.")
    said = read(dialect, told.encode())
    assert isinstance(said.last, DoneChunk)
    assert said.text.startswith("Hi ")
