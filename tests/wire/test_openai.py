"""Facts 1 to 7: what OpenAI-compatible servers really send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import Citation, DoneChunk, ErrorChunk, Usage
from minamo.wire.limits import ARGUMENT_DEPTH_MAX
from support.recordings import ORIGIN, done, once, read, replayed

ROLL = ("roll", {"sides": 6})


def frame(delta: object, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, **more}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


END = frame({}, finish_reason="stop") + b"data: [DONE]\n\n"


def test_plain_text_with_usage() -> None:
    said = replayed("openai-text")

    assert said.text == "Hello there."
    assert said.last == done("stop", Usage(9, 3, 1, 2), "gpt-x")


def test_fact_01_frames_without_choices_come_first_and_last() -> None:
    said = replayed("openai-01-azure")

    assert said.text == "Hi"
    assert said.last == done("stop", Usage(5, 1), "gpt-4o-2024")


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("openai-02-usage-on-finish", Usage(4, 1)),
        ("openai-02-usage-everywhere", Usage(4, 3)),
        ("openai-02-done-object", Usage(4, 1)),
        ("openai-text", Usage(9, 3, 1, 2)),
    ],
)
def test_fact_02_usage_comes_anywhere(name: str, usage: Usage) -> None:
    said = replayed(name)

    assert isinstance(said.last, DoneChunk)
    assert said.last.usage == usage
    assert said.text in ("Hi", "Hi!", "Hello there.")  # the done object repeats nothing


def test_fact_03_explicit_nulls_and_missing_fields() -> None:
    said = replayed("openai-03-nulls")

    assert said.text == "Hi"
    assert said.last == done("", None, "gpt-x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("openai-04-reasoning-content", "42"),
        ("openai-04-reasoning", "42"),
        ("openai-04-reasoning-details", "42"),
        ("openai-04-mistral-thinking", "It is 42"),
    ],
)
def test_fact_04_reasoning_in_four_places(name: str, text: str) -> None:
    said = replayed(name)

    assert said.thoughts == "Let me think."
    assert said.text == text


def test_fact_04_reasoning_is_kept_for_the_next_request() -> None:
    plain, detailed = (
        replayed(f"openai-04-{name}").last for name in ("reasoning", "reasoning-details")
    )
    assert isinstance(plain, DoneChunk)
    assert isinstance(detailed, DoneChunk)

    assert plain.replay == {"reasoning": "Let me think.", **ORIGIN}
    kinds = [detail["type"] for detail in detailed.replay["reasoning_details"]]
    assert kinds == ["reasoning.text", "reasoning.summary", "reasoning.encrypted"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning_details"])
def test_reasoning_too_long_to_send_back_is_dropped_whole(field: str) -> None:
    long = "x" * 60_000
    delta = {field: long if field == "reasoning_content" else [{"text": long}]}
    said = once("openai", frame(delta) * 18 + END)

    assert len(said.thoughts) == 1_080_000
    assert said.last == done("stop")


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("pieces", [ROLL]),
        ("mistral", [ROLL, ("flip", {})]),
        ("alibaba", [ROLL]),
        ("groq-whole", [("now", {})]),
        ("parallel", [ROLL, ("flip", {"coins": 2})]),
        ("index-zero", [ROLL, ("flip", {})]),
        ("object-arguments", [ROLL]),
        ("no-arguments", [("now", {})]),
    ],
)
def test_fact_05_tool_calls_in_every_shape(name: str, calls: object) -> None:
    assert replayed(f"openai-05-{name}").calls == calls


def test_fact_05_ids_and_extra_content_are_kept() -> None:
    calls = replayed("openai-05-index-zero").raw_calls

    assert [call.id for call in calls] == ["a", "b"]
    assert calls[0].replay == {"extra_content": {"google": {"thought_signature": "c2ln"}}, **ORIGIN}


def test_fact_05_pieces_without_index_id_or_name_belong_to_the_last_call() -> None:
    pieces = [
        {"id": "a", "function": {"name": "roll", "arguments": '{"sides"'}},
        {"function": {"arguments": ":6}"}},
        {"function": {"name": None, "arguments": None}},
        {"function": None},
    ]
    data = b"".join(frame({"tool_calls": [piece]}) for piece in pieces)

    assert read("openai", data + END).calls == [ROLL]


def test_fact_06_text_reasoning_and_a_call_share_a_reply() -> None:
    said = replayed("openai-06-all-in-one")

    assert (said.text, said.thoughts, said.calls) == ("I roll. Wait.", "Dice.", [ROLL])
    assert said.raw_calls[0].replay == {"reasoning_content": "Dice.", **ORIGIN}


def test_fact_07_openrouter_comments_and_the_serving_provider() -> None:
    assert replayed("openai-07-openrouter").last == done("stop", None, "gpt-x", "Fireworks")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("openrouter-error", ErrorChunk("api_error", "Provider disconnected", retryable=True)),
        ("vllm-error", ErrorChunk("model_error", "The model ran out of memory", retryable=True)),
    ],
)
def test_fact_07_errors_inside_a_stream(name: str, error: ErrorChunk) -> None:
    said = replayed(f"openai-07-{name}")

    assert said.text == "Half a"
    assert said.last == error


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("refusal", "", "content_blocked", "I cannot help with that."),
        ("content-filter", "Well,", "content_blocked", "stopped by a content filter"),
        ("broken-arguments", "I roll.", "model_error", "tool arguments are not JSON"),
        ("cut", "Hello, and", "api_error", "the stream ended in the middle of the reply"),
        ("comments-only", "", "api_error", "the stream ended in the middle of the reply"),
    ],
)
def test_what_goes_wrong(name: str, text: str, kind: str, message: str) -> None:
    said = replayed(f"openai-{name}")

    assert said.text == text
    assert isinstance(said.last, ErrorChunk)
    assert (said.last.kind, said.last.message) == (kind, message)
    assert said.last.retryable is (kind != "content_blocked")
    assert said.calls == []


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("insufficient_system_resource", "provider_overloaded"), ("error", "model_error")],
)
def test_finish_reasons_that_are_failures(reason: str, kind: str) -> None:
    said = read("openai", frame({"content": "a"}, finish_reason=reason) + b"data: [DONE]\n\n")

    assert isinstance(said.last, ErrorChunk)
    assert said.last.kind == kind


def test_length_and_a_missing_end_mark_are_fine() -> None:
    assert replayed("openai-length").last == done("length", None, "gpt-x")
    assert replayed("openai-no-done").last == done("stop", None, "gpt-x")


def test_a_call_cut_off_before_its_arguments_is_no_call() -> None:
    delta = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "roll"}}]}
    said = read("openai", frame(delta) + frame({}, finish_reason="length"))

    assert said.last == ErrorChunk("model_error", "cut off inside a tool call", retryable=True)


@pytest.mark.parametrize(
    "data",
    [
        b"data: {broken\n\n",
        b"data: 7\n\n",
        b'data: {"choices": "none"}\n\n',
        b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [7]}}]}\n\n',
        b'data: {"x": ' + b"[" * 50_000 + b"\n\n",
        b'data: {"choices": [{"delta": {"content": NaN}}]}\n\n',
    ],
)
def test_a_provider_that_lies(data: bytes) -> None:
    said = (once if len(data) > 9_999 else read)(
        "openai", frame({"content": "So far."}) + data + END
    )

    assert said.text == "So far."
    assert said.last == ErrorChunk("model_error", "a frame that is not what it should be")


def test_side_dishes_of_the_wrong_type_are_no_error() -> None:
    data = {"choices": [{"delta": {"content": "Hi"}}], "usage": "a lot", "model": 7, "provider": []}
    said = read("openai", b"data: " + json.dumps(data).encode() + b"\n\n" + END)

    assert said.text == "Hi"
    assert said.last == done("stop")


def test_other_choices_are_not_ours() -> None:
    other = b'data: {"choices": [{"index": 1, "delta": {"content": "no"}}]}\n\n'

    assert read("openai", other + END).text == ""


def test_content_parts_that_are_not_text() -> None:
    parts = [
        {"type": "text", "text": "Hi"},
        {"text": "!"},
        {"type": "image_url", "text": "no"},
        {"type": "thinking", "thinking": "Hm."},
        {"type": "reference", "reference_ids": [1]},
    ]
    said = read("openai", frame({"content": parts}) + END)

    assert (said.text, said.thoughts) == ("Hi!", "Hm.")


@pytest.mark.parametrize("depth", [64, 65])
def test_arguments_may_nest_as_deep_as_the_limit(depth: int) -> None:
    arguments = '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    said = read(
        "openai", frame({"tool_calls": [{"function": {"name": "a", "arguments": arguments}}]}) + END
    )

    assert bool(said.calls) == (depth <= ARGUMENT_DEPTH_MAX)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        ([{"index": 0, "function": {"arguments": "{}"}}], "a tool call without a name"),
        ([{"function": {"name": "a", "arguments": "[1]"}}], "tool arguments are not an object"),
        ([{"function": {"name": "a", "arguments": "{} {}"}}], "tool arguments are not JSON"),
        ([{"function": {"name": "a", "arguments": '{"a": NaN}'}}], "tool arguments are not JSON"),
        (
            [{"function": {"name": "a", "arguments": '{"a": ' + "[" * 70 + "]" * 70 + "}"}}],
            "tool arguments nest too deep",
        ),
        (
            [{"function": {"name": "a", "arguments": '{"a": ' + "[" * 9_999}}],
            "tool arguments are not JSON",
        ),
        ([{"id": str(i), "function": {"name": "a"}} for i in range(65)], "too many tool calls"),
    ],
)
def test_calls_that_are_none(delta: object, message: str) -> None:
    said = read("openai", frame({"tool_calls": delta}) + END)

    assert said.last == ErrorChunk("model_error", message, retryable=True)


@pytest.mark.parametrize("as_object", [False, True])
def test_endless_arguments_end_at_once(as_object: bool) -> None:
    text = "x" * 50_000
    piece = {"index": 0, "function": {"name": "a", "arguments": {"a": text} if as_object else text}}
    said = once("openai", frame({"tool_calls": [piece]}) * 50)

    assert said.last == ErrorChunk("model_error", "tool arguments too long", retryable=True)


def test_an_emoji_in_arguments_split_between_pieces() -> None:
    pieces = ['{"a": "\ud83d', '\ude00"}']
    data = b"".join(
        frame({"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": piece}}]})
        for piece in pieces
    )

    assert read("openai", data + END).calls == [("a", {"a": "😀"})]


def pieces(*calls: dict[str, object]) -> bytes:
    return b"".join(frame({"tool_calls": [call]}) for call in calls) + END


def function(name: str, arguments: object) -> dict[str, object]:
    return {"function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_an_id_that_is_repeated_goes_on_with_its_call(index: dict[str, object]) -> None:
    one = {"id": "a", **index}
    data = pieces(
        {**one, **function("roll", '{"sides"')},
        {**one, **function("", ":")},
        {**one, **function("roll", "6}")},
    )

    assert read("openai", data).calls == [ROLL]


@pytest.mark.parametrize("call_id", [{"id": ""}, {}])
@pytest.mark.parametrize("name", ["roll", "flip"])
@pytest.mark.parametrize("arguments", ['{"sides": 6}', {"sides": 6}])
def test_whole_calls_under_one_index_and_without_ids_are_told_apart(
    call_id: dict[str, object], name: str, arguments: object
) -> None:
    one = {"index": 0, **call_id}
    data = pieces({**one, **function("roll", arguments)}, {**one, **function(name, arguments)})

    assert read("openai", data).calls == [ROLL, (name, {"sides": 6})]


def test_null_means_no_arguments() -> None:
    assert read("openai", pieces(function("roll", "null"))).calls == [("roll", {})]


def test_an_event_called_error_is_one() -> None:
    said = read("openai", frame({"content": "Hi"}) + b'event: error\ndata: {"message": "bad"}\n\n')

    assert (said.text, said.last) == ("Hi", ErrorChunk("api_error", "bad"))


def test_fact_02_perplexity_ends_with_a_done_frame_and_no_end_mark() -> None:
    said = replayed("openai-02-perplexity")
    assert (said.text, said.thoughts) == ("Rain today.[1]", "")
    sources = (Citation("https://example.org", "T"),)
    assert said.last == done("stop", Usage(4, 3), "sonar", citations=sources)

    said = replayed("openai-02-perplexity-concise")
    assert said.text == "Rain today."
    assert said.thoughts == "Searching the web.\nReading.\n"
    assert said.last == done("length", Usage(6, 9), "sonar-pro")


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"delta": {"content": "Hi"}, "message": {"content": "Hi"}}, "Hi"),
        ({"delta": {"content": ""}, "message": {"content": "Hi"}}, "Hi"),
        ({"message": {"content": [{"type": "text", "text": "Hi"}]}}, "Hi"),
        ({"delta": None, "message": 7}, ""),
        (None, ""),
    ],
)
def test_a_done_frame_that_is_all_there_is(choice: Any, text: str) -> None:
    choices = {"choices": [{"index": 0, "finish_reason": "stop", **choice}]} if choice else {}
    body = json.dumps({"object": "chat.completion.done", "model": "m", **choices})
    said = read("openai", f"data: {body}\n\n".encode())

    assert said.text == text
    assert said.last == done("stop" if choice else "", None, "m")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"choices": [{"index": 0}]}, "a frame that lacks its delta"),
        ({}, "a frame that lacks its choices"),
        ({"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]},
         "a piece of a tool call without its function"),
        ({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {}}]}}]},
         "a piece of a tool call without its function"),
    ],
)  # fmt: skip
def test_a_frame_without_what_its_type_promises_is_an_error(broken: Any, message: str) -> None:
    body = json.dumps({"object": "chat.completion.chunk", **broken})
    said = read("openai", frame({"content": "Hi"}) + f"data: {body}\n\n".encode() + END)

    assert (said.text, said.calls) == ("Hi", [])
    assert said.last == ErrorChunk("model_error", message, retryable=True)


@pytest.mark.parametrize(
    "fine",
    [
        {"object": "", "choices": [{"index": 0, "content_filter_offsets": {}}]},  # Azure, later
        {"object": "", "model": "m"},
        {"object": "chat.completion.chunk", "choices": None},
        {"object": "chat.completion.chunk", "choices": [{"delta": None}]},
        {"object": "chat.completion.chunk", "usage": {"prompt_tokens": 1}},
    ],
)
def test_frames_of_servers_that_have_nothing_to_say(fine: Any) -> None:
    said = read("openai", frame({"content": "Hi"}) + f"data: {json.dumps(fine)}\n\n".encode() + END)

    assert said.text == "Hi"
    assert isinstance(said.last, DoneChunk)
