"""Fact 18: statuses and error objects, and the words that are shown to people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk, FunctionCall
from minamo.core.redact import shorten
from minamo.wire.errors import from_object, from_status, retry_after
from support.recordings import KEY, adapter, done, gathered, once, read

STATUSES = [
    (400, "api_error", False), (401, "api_error", False), (402, "api_error", False),
    (403, "api_error", False), (404, "api_error", False), (408, "timeout", True),
    (413, "api_error", False), (422, "api_error", False), (429, "rate_limit", True),
    (498, "provider_overloaded", True), (500, "model_error", True), (502, "api_error", True),
    (503, "provider_overloaded", True), (504, "timeout", True), (520, "api_error", True),
    (529, "provider_overloaded", True), (204, "api_error", False),
]  # fmt: skip


@pytest.mark.parametrize(("status", "kind", "retryable"), STATUSES)
def test_fact_18_statuses(status: int, kind: str, retryable: bool) -> None:
    found = from_status(status)

    assert found == ErrorChunk(kind, f"HTTP {status}", retryable, status=status)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_p22_a_redirect_is_an_error(status: int) -> None:
    found = from_status(status)

    assert found.kind == "api_error"
    assert "redirect" in found.message
    assert not found.retryable


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "No such model", "type": "x", "code": None}}, "No such model"),
        ({"type": "error", "error": {"type": "not_found_error", "message": "No"}}, "No"),
        ([{"error": {"code": 404, "message": "Gone", "status": "NOT_FOUND"}}], "Gone"),
        ({"error": "just text"}, "just text"),
        ({"object": "error", "message": "bare"}, "bare"),
        ({"detail": "fastapi"}, "fastapi"),
        ({"message": {"detail": ["a"]}}, "a"),
        ({"error": {"type": "not_found_error"}}, "not_found_error"),
        ({"error": 7}, "HTTP 404"),
        ({"error": {"message": 7}}, "HTTP 404"),
        ([], "HTTP 404"),
        ("text", "text"),
        (None, "HTTP 404"),
    ],
)
def test_bodies_in_every_known_shape(body: object, message: str) -> None:
    assert from_status(404, json.dumps(body).encode()).message == message


def test_a_body_that_is_a_page() -> None:
    assert from_status(502, b"<html>Bad gateway</html>").message == "HTTP 502"


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("rate_limit_error", "rate_limit", True),
        ("RESOURCE_EXHAUSTED", "rate_limit", True),
        ("insufficient_quota", "rate_limit", False),
        ("overloaded_error", "provider_overloaded", True),
        ("UNAVAILABLE", "provider_overloaded", True),
        ("timeout_error", "timeout", True),
        ("DEADLINE_EXCEEDED", "timeout", True),
        ("server_error", "model_error", True),
        ("INTERNAL", "model_error", True),
        ("api_error", "api_error", True),
        ("content_filter", "content_blocked", False),
        ("invalid_request_error", "api_error", False),
        ("authentication_error", "api_error", False),
        (429, "rate_limit", True),
        ("503", "provider_overloaded", True),
        (400, "api_error", False),
        (524, "api_error", True),
        (1305, "api_error", False),
        (None, "api_error", False),
    ],
)
def test_error_objects_are_judged_by_their_codes(code: Any, kind: str, retryable: bool) -> None:
    found = from_object({"error": {"message": "a timeout, they say", "code": code}})

    assert (found.kind, found.retryable) == (kind, retryable)


def test_the_body_may_know_better_than_the_status() -> None:
    filtered = json.dumps({"error": {"code": "content_filter", "message": "No."}}).encode()
    assert from_status(400, filtered).kind == "content_blocked"
    azure = {"code": "content_filter", "message": "No.", "param": "prompt", "status": 400,
             "type": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}  # fmt: skip
    router = {"code": 403, "message": "No.", "metadata": {"reasons": ["violence"],
              "flagged_input": "x", "provider_name": "OpenAI"}}  # fmt: skip
    flagged = {"code": "invalid_prompt", "message": "No.", "type": "invalid_request_error"}
    for status, body in ((400, azure), (403, router), (400, flagged)):
        found = from_status(status, json.dumps({"error": body}).encode())
        assert found == ErrorChunk("content_blocked", "No.", False, status=status)
    broke = json.dumps({"error": {"code": "insufficient_quota", "message": "Pay."}}).encode()
    assert from_status(429, broke) == ErrorChunk("rate_limit", "Pay.", False, status=429)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "999999"}, 3600.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Mon, 16 Nov 2026 10:00:30 GMT",
                "date": "Mon, 16 Nov 2026 10:00:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT"}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
    assert from_status(429, b"", headers).retry_after == seconds


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        ([{"@type": "x"}, {"retryDelay": "34s"}], 34.0),
        ([{"retryDelay": 34}], None),
        ([{"retryDelay": "soons"}], None),
        ([7], None),
        ("none", None),
    ],
)
def test_googles_way_to_say_how_long(details: object, seconds: float | None) -> None:
    body = {"error": {"code": 429, "message": "Slow down", "details": details}}

    assert from_status(429, json.dumps(body).encode()).retry_after == seconds


def test_words_for_people() -> None:
    assert shorten("a\n\tb\x00\u202ec", 300) == "a bc"
    assert shorten("a\u200d\n\tb", 300, printable=False) == "a\u200d b"
    assert shorten("x" * 1_000, 300) == "x" * 299 + "…"


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google"])
def test_p21_a_key_in_a_providers_words_is_taken_out(dialect: str) -> None:
    error = {"type": "error", "error": {"type": "x", "message": f"Bad key {KEY}!"}}
    said = read(dialect, b"data: " + json.dumps(error).encode() + b"\n\n")

    assert isinstance(said.last, ErrorChunk)
    assert said.last.message == "Bad key [key]!"


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google"])
def test_p21_a_key_that_straddles_the_cut_leaves_nothing(dialect: str) -> None:
    for before in range(250, 302):
        for words in ("Ä" * before + KEY, "Ä" * before + f"{KEY[:14]}…{KEY[-9:]} ÄÄÄ"):
            body = {"type": "error", "error": {"type": "x", "message": words}}
            told = [once(dialect, b"data: " + json.dumps(body).encode() + b"\n\n").last]
            refused = from_status(401, json.dumps(body).encode())
            told.append(gathered(_read_error(dialect, refused)).last)
            for last in told:
                assert isinstance(last, ErrorChunk)
                assert "s" not in last.message, last.message
                assert len(last.message) <= 300


def _read_error(dialect: str, error: ErrorChunk) -> list[Any]:
    """What an adapter says of an answer that is no stream."""
    llm = adapter(dialect)
    return [chunk for frame in llm.decoder().feed(error) for chunk in llm.process_chunk(frame)]


@pytest.mark.parametrize("told", [{}, {"message": ""}, [], 7, False])
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google"])
def test_an_error_without_words(dialect: str, told: object) -> None:
    frame = {"type": "error", "error": told}
    said = read(dialect, b"data: " + json.dumps(frame).encode() + b"\n\n")

    assert said.last == ErrorChunk("api_error", "the provider reported an error")


def test_p21_nor_does_a_done_chunk_repeat_it() -> None:
    frame = {"model": KEY, "provider": KEY, "choices": [{"delta": {}, "finish_reason": KEY}]}
    said = read("openai", b"data: " + json.dumps(frame).encode() + b"\n\n")

    assert said.last == done("[key]", None, "[key]", "[key]")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'{"error": {"message": "No such model"}}', "No such model"),
        (b'  {"error":\n {"message": "No such model"}}\n', "No such model"),
        (b'[{"error": {"message": "No such model"}}]', "No such model"),
        (b"<!doctype html><p>Hi", "the answer is not an event stream"),
        (b'{"error": {"mess', "the answer is not an event stream"),
        (b'{"models": [{"name": "m"}]}', "the answer is not an event stream"),
        (b"7", "the stream ended in the middle of the reply"),
        (b"Hello", "the stream ended in the middle of the reply"),
        (b"", "the stream ended in the middle of the reply"),
    ],
)
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google"])
def test_answers_that_are_no_stream(dialect: str, answer: bytes, message: str) -> None:
    said = read(dialect, answer)

    assert isinstance(said.last, ErrorChunk)
    assert said.last.message == message


def test_a_function_call_chunk_carries_the_usage() -> None:
    from minamo.testing import check_adapter
    from support.recordings import adapter, recording

    chunks = check_adapter(adapter("openai"), recording("openai-05-mistral"))
    call, done = chunks[-2:]
    assert isinstance(call, FunctionCall)
    assert isinstance(done, DoneChunk)
    assert call.usage == done.usage
    assert call.usage is not None


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, b"", "bad_key"),
        (403, b"", "bad_key"),
        (404, b"", "not_found"),
        (500, b"", ""),
        (400, b'{"error": {"details": [{"reason": "API_KEY_INVALID"}]}}', "bad_key"),
        (400, b'{"error": {"message": "no"}}', ""),
    ],
)
def test_codes_for_logs(status: int, body: bytes, code: str) -> None:
    assert from_status(status, body).code == code
