"""Facts 14 to 16: what Gemini and Vertex really send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk, FileChunk, Usage
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.google.reader import GoogleReader, PartialArg, place, settled, steps
from minamo.wire.limits import REPLAY_CHARS_MAX, WireLimits
from minamo.wire.sse import SseEvent
from support.recordings import ORIGIN, done, once, read, replayed

ROLL = ("roll", {"sides": 6})
USAGE = Usage(9, 6, 3, 2)


def frame(*parts: object, **candidate: object) -> bytes:
    told = {"content": {"parts": list(parts)}, **candidate}
    return b"data: " + json.dumps({"candidates": [told]}).encode() + b"\r\n\r\n"


END = frame(finishReason="STOP")


def call(**told: object) -> dict[str, object]:
    return {"functionCall": told}


def test_plain_text_with_usage() -> None:
    said = replayed("google-text")

    assert said.text == "Hello there."
    assert said.last == done("STOP", USAGE, "gemini-x")


def test_fact_14_the_signature_comes_as_a_final_empty_part() -> None:
    said = replayed("google-14-signature-empty-part")

    assert (said.text, said.thoughts) == ("42", "Let me think.")
    assert isinstance(said.last, DoneChunk)
    assert said.last.replay == {"thought_signature": "c2ln", **ORIGIN}


def test_fact_14_or_on_a_call() -> None:
    said = replayed("google-14-signature-on-call")

    assert (said.text, said.calls) == ("I roll. ", [ROLL, ("flip", {"coins": 2})])
    assert [c.replay for c in said.raw_calls] == [{"thought_signature": "c2ln", **ORIGIN}, {}]
    assert [c.id for c in said.raw_calls] == ["", "f2"]
    assert isinstance(said.last, DoneChunk)
    assert said.last.raw_finish_reason == "STOP"


@pytest.mark.parametrize("more", [0, 1])
def test_an_endless_signature_is_not_sent_back(more: int) -> None:
    signature = "x" * (REPLAY_CHARS_MAX + more)
    part = {**call(name="now"), "thoughtSignature": signature}
    (made,) = once("google", frame(part) + END).raw_calls

    assert made.replay.get("thought_signature") == (None if more else signature)


def test_fact_15_no_index_no_args_no_usage() -> None:
    said = replayed("google-15-bare")

    assert said.calls == [("now", {})]
    assert said.last == DoneChunk("tool_calls", raw_finish_reason="STOP")


def test_fact_15_a_blocked_prompt_may_be_all_there_is() -> None:
    assert replayed("google-15-blocked-prompt").last == ErrorChunk(
        "content_blocked", "PROHIBITED_CONTENT"
    )
    told = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."}}
    data = b"data: " + json.dumps(told).encode() + b"\n\n"
    assert read("google", data).last == ErrorChunk("content_blocked", "No.")


def test_fact_16_arguments_as_json_paths() -> None:
    said = replayed("google-16-vertex")

    stops = [{"name": "fort", "hours": 2}, {"name": "tomb"}]
    plan = {"city": "New Delhi", "stops": stops, "by bus": False, "note": None}
    assert said.calls == [("plan", plan)]
    assert said.raw_calls[0].replay == {"thought_signature": "c2ln", **ORIGIN}


def test_fact_16_the_closing_frame_may_be_missing() -> None:
    said = replayed("google-16-vertex-unclosed")

    assert said.calls == [("plan", {"prices": [0.5, 2]}), ("now", {})]


def test_an_open_call_at_the_length_limit_is_half_a_call() -> None:
    half = frame(
        call(name="a", willContinue=True, partialArgs=[{"jsonPath": "$.b", "stringValue": "c"}])
    )
    said = read("google", half + frame(finishReason="MAX_TOKENS"))

    assert said.last == ErrorChunk("model_error", "cut off inside a tool call", retryable=True)


def test_several_calls_in_one_frame() -> None:
    assert replayed("google-parallel").calls == [ROLL, ("flip", {"coins": 2})]


def test_code_that_the_model_ran_is_shown_as_code() -> None:
    said = replayed("google-other-parts")
    assert said.text == "\n\n```python\nsecret\n```\n\n\n\n```\nsecret\n```\n\nDone."
    assert said.files == (FileChunk(b"\0\0\0", "image/png", "image-1.png"),)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"executableCode": {"language": "LANGUAGE_UNSPECIFIED", "code": "a"}}, "```\na\n```"),
        ({"executableCode": {"code": "a = '```'\n"}}, "````\na = '```'\n````"),
        ({"executableCode": {"language": "PYTHON"}}, ""),
        ({"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}}, "```\nno\n```"),
        ({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, ""),
        ({"inlineData": {}}, ""),
        ({"inlineData": {"mimeType": "image/png", "data": "?"}}, ""),
    ],
)
def test_parts_with_code(part: dict[str, Any], text: str) -> None:
    said = read("google", frame(part, finishReason="STOP"))
    assert said.text.strip() == text
    assert said.files == ()


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("safety", "Well,", ErrorChunk("content_blocked", "SAFETY")),
        (
            "malformed-call",
            "",
            ErrorChunk("model_error", "Malformed function call: print(", retryable=True),
        ),
        (
            "error",
            "Half a",
            ErrorChunk("provider_overloaded", "The model is overloaded.", retryable=True),
        ),
        (
            "cut",
            "Half a",
            ErrorChunk("api_error", "the stream ended in the middle of the reply", retryable=True),
        ),
    ],
)
def test_what_goes_wrong(name: str, text: str, error: ErrorChunk) -> None:
    said = replayed(f"google-{name}")

    assert (said.text, said.calls, said.last) == (text, [], error)


def test_an_unsigned_history_is_a_failure_and_no_empty_reply() -> None:
    said = read("google", frame(finishReason="MISSING_THOUGHT_SIGNATURE"))
    assert said.last == ErrorChunk("model_error", "MISSING_THOUGHT_SIGNATURE", retryable=True)


def test_a_call_at_the_limit_of_one_request_may_be_half_a_call() -> None:
    said = read("google", frame(call(name="a"), finishReason="CONTINUATION"))
    assert said.last == ErrorChunk("model_error", "cut off inside a tool call", retryable=True)


def test_length() -> None:
    assert replayed("google-length").last == done("MAX_TOKENS", USAGE, "gemini-x")


@pytest.mark.parametrize(
    "data",
    [
        b"data: {broken\n\n",
        b'data: {"candidates": [{"content": {"parts": [{"text": 7}]}}]}\n\n',
        b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"args": []}}]}}]}\n\n',
    ],
)
def test_a_provider_that_lies(data: bytes) -> None:
    said = read("google", frame({"text": "So far."}) + data + END)

    assert said.text == "So far."
    assert said.last == ErrorChunk("model_error", "a frame that is not what it should be")


def test_frames_that_say_nothing() -> None:
    odd = b'data: \n\ndata: {}\n\ndata: {"candidates": [{"index": 1}], "usageMetadata": "x"}\n\n'
    said = read("google", odd + frame() + frame(call(name="a")) + frame(call()) + END)

    assert said.calls == [("a", {})]
    assert said.last == DoneChunk("tool_calls", raw_finish_reason="STOP", skipped=1)


@pytest.mark.parametrize(
    ("told", "skipped"),
    [({}, 1), ({"candidates": []}, 0), ({"candidates": [{"index": 1}]}, 0), ({"strange": 1}, 1)],
)
def test_only_frames_without_anything_known_are_counted_as_skipped(
    told: dict[str, Any], skipped: int
) -> None:
    odd = b"data: " + json.dumps(told).encode() + b"\n\n"
    said = read("google", frame({"text": "Hi"}) + odd + END)
    assert said.last == done("STOP", skipped=skipped)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([call(args={"a": 1})], "lacks the name of its tool call"),
        ([call()], "lacks the name of its tool call"),
        ([call(name="a"), call(willContinue=True)], "lacks the name of its tool call"),
        ([call(name="a", partialArgs=[{"jsonPath": "$.b"}])], "do not fit together"),
        ([call(name="a", partialArgs=[{"jsonPath": "b"}])], "do not fit together"),
        ([call(name="a", partialArgs=[{"jsonPath": "$.b[1]"}])], "do not fit together"),
        ([call(name="a", args={"a": "x" * 50_000})] * 6, "too long"),
        (
            [
                call(name="a", willContinue=True),
                *[call(partialArgs=[{"jsonPath": "$.b", "stringValue": "x" * 9_000}],
                       willContinue=True)] * 30,
                call(name="too late"),
            ],
            "too long",
        ),
    ],
)  # fmt: skip
def test_arguments_that_are_none(parts: list[object], message: str) -> None:
    said = once("google", b"".join(frame(part) for part in parts) + END)

    assert said.calls == []
    assert isinstance(said.last, ErrorChunk)
    assert said.last.message.endswith(message)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a", ["a"]),
        ("$.a.b-c[0].d", ["a", "b-c", 0, "d"]),
        ("$['a b']", ["a b"]),
        ("""$["a'b"]""", ["a'b"]),
        (r"$['it\'s']", ["it's"]),
        ("$", []),
        ("a", []),
        ("$.", []),
        ("$[*]", []),
        ("$[-1]", []),
        ("$" + ".a" * 65, []),
        ("", []),
    ],
)
def test_json_paths(path: str, found: list[object]) -> None:
    assert steps(path) == found


@pytest.mark.parametrize(
    ("paths", "fits"),
    [
        (["$.a.b", "$.a"], False),
        (["$.a", "$.a.b"], False),
        (["$.a[1]", "$.a[0]"], True),
        (["$.a", "$.a"], True),
    ],
)
def test_places_that_contradict_each_other(paths: list[str], fits: bool) -> None:
    root: dict[str | int, object] = {}

    assert all(place(root, PartialArg(path, string_value="x")) for path in paths) is fits


@pytest.mark.parametrize("path", ["$.a[1]", "$.a[999999]"])
def test_lists_with_holes(path: str) -> None:
    root: dict[str | int, object] = {}
    place(root, PartialArg(path, number_value=1))

    with pytest.raises(ValueError, match="holes"):
        settled(root)


def test_a_place_that_is_list_and_object() -> None:
    root: dict[str | int, object] = {}
    place(root, PartialArg("$.a[0]", bool_value=True))
    place(root, PartialArg("$.a.b"))

    with pytest.raises(ValueError, match="holes"):
        settled(root)


def test_text_frames_that_name_another_model_or_say_nothing() -> None:
    def told(text: str, model: str, **more: object) -> bytes:
        candidate = {"content": {"parts": [{"text": text}]}}
        whole = {"candidates": [candidate], "modelVersion": model, **more}
        return b"data: " + json.dumps(whole).encode() + b"\n\n"

    tokens = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}
    data = told("a", "gemini-x") + told("b", "gemini-x") + told("", "gemini-x")
    data += told("c", "gemini-y") + told("d", "gemini-y", usageMetadata=tokens)
    said = read("google", data + END)

    assert said.text == "abcd"
    assert said.last == done("STOP", Usage(9, 2), "gemini-y")


def test_text_frames_are_taken_together_behind_a_first_one() -> None:
    text, other = (
        SseEvent(frame(part).removeprefix(b"data: ").strip())
        for part in ({"text": "a"}, call(name="now"))
    )
    reader = GoogleReader(ReplyAssembler(WireLimits()))
    assert reader.pieces([text]) == []
    reader.feed(text)
    assert reader.pieces([text, text, other, text]) == ["a", "a"]
    assert reader.pieces([text]) == []  # what came last was no text
