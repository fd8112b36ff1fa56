"""OpenAI's Responses API: what it sends, and what it is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import Call, Citation, DoneChunk, ErrorChunk, Usage
from minamo.shell.providers.adapters import OpenAI
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.conversation import ChatMessage, assistant, system, tool_result, user
from minamo.wire.json import size_of
from minamo.wire.limits import REPLAY_CHARS_MAX, WireLimits
from minamo.wire.options import Tool
from minamo.wire.responses.reader import ResponsesReader
from minamo.wire.sse import SseEvent
from support.recordings import KEY, done, once, read, replayed

USAGE = Usage(42, 19, 7, 32)
MODEL = "gpt-5.6-2026-09-01"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABo-secret"}


def event(kind: str, **told: Any) -> bytes:
    return b"data: " + json.dumps({"type": kind, **told}).encode() + b"\n\n"


def delta(text: Any, index: Any = 0) -> bytes:
    return event("response.output_text.delta", output_index=index, content_index=0, delta=text)


def item(kind: str, index: int = 0, **told: Any) -> bytes:
    return event("response.output_item.done", output_index=index, item={"type": kind, **told})


END = event("response.completed", response={"output": []})


def test_plain_text_with_usage() -> None:
    said = replayed("responses-text")

    assert said.text == "Hello there."
    assert said.last == done("completed", USAGE, MODEL)


def test_parallel_calls_after_a_thought_and_some_text() -> None:
    said = replayed("responses-tools")

    assert said.text == "Let me roll."
    assert said.thoughts == "**Rolling**\n\nTwo dice.\n\nThen add."
    assert said.calls == [("roll", {"sides": 6}), ("roll", {"sides": 20})]
    assert [call.id for call in said.raw_calls] == ["call_1", "call_2"]
    assert isinstance(said.last, DoneChunk)
    assert said.last.finish_reason == "tool_calls"


@pytest.mark.parametrize("name", ["responses-whole-items", "responses-whole-response"])
def test_what_was_not_streamed_is_read_from_the_end(name: str) -> None:
    said = replayed(name)
    assert (said.text, said.calls) == ("Hello there.", [("roll", {"sides": 6})])


def test_the_thoughts_of_open_models() -> None:
    said = replayed("responses-open-reasoning")
    assert (said.thoughts, said.text) == ("Hmm, dice.", "Four.")
    # Without encrypted content there is nothing that the next request could repeat.
    assert said.last == done("completed", USAGE, MODEL)


def test_a_custom_tool_takes_text() -> None:
    said = replayed("responses-custom-tool")
    assert said.calls == [("python", {"input": "print('hi')"})]
    history = [user("Run!"), assistant(calls=said.raw_calls), tool_result(said.raw_calls[0], "hi")]
    asked, answer = body(history)["input"][1:]
    assert asked == {"type": "custom_tool_call", "call_id": "call_9", "name": "python",
                     "input": "print('hi')"}  # fmt: skip
    assert answer == {"type": "custom_tool_call_output", "call_id": "call_9", "output": "hi"}


def test_sources_of_a_web_search() -> None:
    said = replayed("responses-web-search")
    assert isinstance(said.last, DoneChunk)
    first, second = said.last.citations
    # The second message begins behind the nine characters of the first.
    assert first == Citation(
        "https://example.invalid/tides?utm_source=openai", "Tides, explained", ((26, 39),)
    )
    assert (second.title, second.places) == ("The moon", ((40, 49),))


def test_unknown_events_are_skipped_and_counted() -> None:
    said = replayed("responses-unknown-events")
    assert said.text == "Hello there."
    assert isinstance(said.last, DoneChunk)
    assert said.last.skipped == 2


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("refusal", "", ErrorChunk("content_blocked", "I can't help with that.")),
        ("content-filter", "Well, ", ErrorChunk("content_blocked", "stopped by a content filter")),
        ("failed", "So far ",
         ErrorChunk("model_error", "The model is having a bad day.", retryable=True)),
        ("error", "So far ",
         ErrorChunk("rate_limit", "Too many tokens per minute.", retryable=True)),
        ("cut", "So far ",
         ErrorChunk("api_error", "the stream ended in the middle of the reply", retryable=True)),
        ("broken-arguments", "",
         ErrorChunk("model_error", "tool arguments are not JSON", retryable=True)),
    ],
)  # fmt: skip
def test_replies_that_fail(name: str, text: str, error: ErrorChunk) -> None:
    said = replayed(f"responses-{name}")
    assert (said.text, said.calls, said.last) == (text, [], error)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"data: nonsense\n\n", "a frame that is not what it should be"),
        (b"data: {}\n\n", "a frame that lacks its type"),
        (delta(5), "a frame that lacks its delta"),
        (delta("Hi", None), "a frame that lacks its index"),
        (event("response.reasoning_text.delta"), "a frame that lacks its delta"),
        (event("response.output_item.added"), "a frame that lacks its item"),
        (event("response.output_item.added", item={"type": "message"}), "lacks its index"),
        (event("response.output_item.added", output_index=0, item={}), "the type of its item"),
        (item("", 0), "a frame that lacks the type of its item"),
        (item("message"), "a frame that lacks the content of its message"),
        (item("message", content=[{}]), "a frame that lacks the content of its message"),
        (item("message", content=[{"type": "output_text"}]), "lacks the content of its message"),
        (item("function_call", name="a"), "a frame that lacks the arguments of its tool call"),
        (event("response.function_call_arguments.delta", delta="{"), "lacks the tool call of its"),
        (event("response.completed"), "a frame that lacks its response"),
        (event("response.completed", response={}), "a frame that lacks its output"),
        (event("response.completed", response={"output": [{}]}), "lacks the type of its item"),
        (event("error", error={"message": "No."}), "No."),
        # A number that strict readers refuse, in an error that must be heard all the same.
        (b'data: {"type": "error", "message": "No.", "param": 1e999}\n\n', "No."),
        (event("response.failed", response={"error": None}), "the provider reported an error"),
        (b"data: [DONE]\n\n", "the stream ended in the middle of the reply"),
    ],
)
def test_frames_that_are_wrong(data: bytes, message: str) -> None:
    said = read("responses", data)
    assert isinstance(said.last, ErrorChunk)
    assert message in said.last.message


def test_arguments_that_are_wrong() -> None:
    opened = event("response.output_item.added", output_index=0,
                   item={"type": "function_call", "name": "a", "call_id": "c"})  # fmt: skip
    for kind, lacks in (("delta", "its delta"), ("done", "its arguments")):
        data = opened + event(f"response.function_call_arguments.{kind}", output_index=0)
        assert read("responses", data).last == ErrorChunk(
            "model_error", f"a frame that lacks {lacks}", retryable=True
        )
    # Whole at the end, where no piece came before it.
    whole = event("response.function_call_arguments.done", output_index=0, arguments='{"b":1}')
    assert read("responses", opened + whole + END).calls == [("a", {"b": 1})]


def test_frames_that_say_nothing() -> None:
    odd = event("response.reasoning_text.delta", delta="") + event("response.refusal.delta")
    odd += event("response.output_text.annotation.added", annotation=[1])
    odd += event("response.output_text.annotation.added", annotation={"url": "ftp://x"})
    odd += event("response.incomplete", response={"output": []})
    said = read("responses", odd)
    assert (said.text, said.last) == ("", done("incomplete"))


def test_a_refusal_that_was_not_streamed() -> None:
    data = item("message", content=[{"type": "refusal", "refusal": "No."}]) + END
    assert read("responses", data).last == ErrorChunk("content_blocked", "No.")


def test_too_many_items() -> None:
    opened = b"".join(
        event("response.output_item.added", output_index=number, item={"type": "message"})
        for number in range(4_097)
    )
    assert once("responses", opened).last == ErrorChunk(
        "model_error", "too many items in one reply"
    )


def test_sources_without_a_place() -> None:
    notes = [{"url": "https://a.invalid"}, {"url": "https://b.invalid", "start_index": 1}, 5]
    data = item("message", content=[{"type": "output_text", "text": "Hi", "annotations": notes}])
    last = read("responses", data + END).last
    assert isinstance(last, DoneChunk)
    assert last.citations == (Citation("https://a.invalid"), Citation("https://b.invalid"))


def test_the_place_of_a_source_counts_from_the_part_that_it_is_in() -> None:
    def note(url: str, start: int, end: int) -> dict[str, Any]:
        return {"url": f"https://{url}.invalid", "start_index": start, "end_index": end}

    parts = [
        {"type": "output_text", "text": "Tides. ", "annotations": [note("a", 0, 5)]},
        {"type": "output_text", "text": "Moon.", "annotations": [note("b", 0, 4)]},
    ]
    last = read("responses", item("message", content=parts) + END).last
    assert isinstance(last, DoneChunk)
    assert [one.places for one in last.citations] == [((0, 5),), ((7, 11),)]
    # While text arrives: in a part that has begun, and in one that has not.
    told = [(0, note("a", 0, 5)), (1, note("b", 0, 4))]
    notes = b"".join(
        event("response.output_text.annotation.added", output_index=index, content_index=0,
              annotation=one)
        for index, one in told
    )  # fmt: skip
    last = read("responses", delta("Tides. ", 0) + notes + END).last
    assert isinstance(last, DoneChunk)
    assert [one.places for one in last.citations] == [((0, 5),), ((0, 4),)]


# Requests.


def body(messages: list[ChatMessage], model: str = "gpt-5.6", base_url: str = "", **options: Any) -> Any:  # fmt: skip
    where = {"base_url": base_url} if base_url else {}
    make = {name: options.pop(name) for name in ("thoughts",) if name in options}
    llm = OpenAI(model=model, api_key=KEY, **where, **make)
    request = llm.chat(messages, **options).request
    assert request.url.endswith("/responses")
    return json.loads(request.body)


def test_a_request_is_of_the_types_of_the_sdk() -> None:
    pydantic = pytest.importorskip("pydantic")
    params = pytest.importorskip("openai.types.responses.response_create_params")
    calls = replayed("responses-tools").raw_calls
    history = [
        system("You are a bot."),
        user("Hello", name="Ann"),
        assistant("Hi!"),
        user("What is this?", images=[PNG, "https://example.invalid/cat.png"]),
        user("", images=[PNG]),
        assistant("Let me roll.", calls=calls),
        *(tool_result(call, "4") for call in calls),
    ]
    tools = [Tool("roll", "Roll a die"), Tool("now")]
    told = body(history, tools=tools, tool_choice="roll", max_tokens=99, temperature=0.5,
                top_p=0.9, thoughts=True, base_url="https://a.azure.com/openai/v1")  # fmt: skip

    pydantic.TypeAdapter(params.ResponseCreateParamsStreaming).validate_python(told)
    assert told["instructions"] == "You are a bot."
    assert (told["store"], told["stream"]) == (False, True)
    assert told["include"] == ["reasoning.encrypted_content"]
    assert told["reasoning"] == {"summary": "auto"}
    assert told["tool_choice"] == {"type": "function", "name": "roll"}
    assert told["tools"][0]["strict"] is False
    assert told["input"][0] == {"role": "user", "content": "Ann: Hello"}
    assert told["input"][1] == {"role": "assistant", "content": "Hi!"}
    assert told["max_output_tokens"] == 99


@pytest.mark.parametrize(
    ("model", "asks"), [("gpt-4.1", False), ("ft:gpt-4o:x", False), ("o4-mini", True), ("gpt-5", True)]
)  # fmt: skip
def test_only_models_that_reason_are_asked_about_it(model: str, asks: bool) -> None:
    told = body([user("Hi")], model, tool_choice="none", tools=[Tool("a")], thoughts=True)
    assert ("include" in told, "reasoning" in told) == (asks, asks)
    assert told["tool_choice"] == "none"


def openai(base_url: str = "https://api.openai.com/v1") -> OpenAI:
    return OpenAI(model="gpt-5.6", api_key=KEY, base_url=base_url)


def round_of(name: str, text: str, llm: OpenAI | None = None) -> list[ChatMessage]:
    calls = replayed(name, llm or openai()).raw_calls
    return [user("Go!"), assistant(text, calls=calls), *(tool_result(c, "4") for c in calls)]


def test_reasoning_goes_back_in_its_place() -> None:
    told = body(round_of("responses-interleaved", ""))["input"]

    assert [one["type"] for one in told[1:]] == [
        "reasoning", "function_call", "reasoning", "function_call",
        "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert told[1] == REASONING
    assert told[3]["encrypted_content"] == "gAAAAABo-second"
    assert told[2] == {"type": "function_call", "call_id": "call_1", "name": "clock",
                       "arguments": "{}"}  # fmt: skip


def test_text_before_a_call_keeps_its_phase() -> None:
    thought, said, *_ = body(round_of("responses-tools", "Let me roll."))["input"][1:]

    assert thought["summary"][1] == {"type": "summary_text", "text": "Then add."}
    assert said == {"role": "assistant", "content": "Let me roll.", "phase": "commentary"}


def test_azure_looks_reasoning_up_by_its_id() -> None:
    azure = "https://x.openai.azure.com/v1"
    history = round_of("responses-interleaved", "", openai(azure))
    assert body(history, base_url=azure)["input"][1]["id"] == "rs_1"


def test_a_search_goes_back_with_the_reasoning_around_it() -> None:
    last = replayed("responses-web-search", openai()).last
    assert isinstance(last, DoneChunk)
    history = [user("Why?"), assistant("The moon.", replay=last.replay), user("And?")]
    told = body(history)["input"][1:-1]

    assert [one.get("type", one.get("phase")) for one in told] == [
        "reasoning", "web_search_call", "reasoning", "commentary", "final_answer",
    ]  # fmt: skip
    assert told[1] == {"type": "web_search_call", "action": {"type": "search", "query": "tides"}}


def test_a_history_with_other_calls_goes_without_reasoning() -> None:
    calls = replayed("responses-interleaved", openai()).raw_calls[:1]
    history = [user("Go!"), assistant("Hm.", calls=calls), tool_result(calls[0], "4")]
    assert [one.get("type", one.get("role")) for one in body(history)["input"]] == [
        "user", "assistant", "function_call", "function_call_output",
    ]  # fmt: skip


def test_blank_text_is_not_repeated() -> None:
    kept = {"output": [REASONING | {"id": "rs_1"}, {"type": "message", "text": " ", "phase": None}]}
    told = body([user("Go!"), assistant("x", replay=kept), user("On!")])["input"]
    assert told[1:-1] == [REASONING]


def test_the_items_of_other_tools_are_not_kept() -> None:
    thought = item("reasoning", 0, id="rs_1", encrypted_content="x")
    shot = item("image_generation_call", 1, id="ig_1", result="iVBORw0KGgo=")
    for data, kept in ((thought, True), (thought + shot, False)):
        last = read("responses", data + END).last
        assert isinstance(last, DoneChunk)
        assert ("output" in last.replay) is kept


@pytest.mark.parametrize(
    ("kind", "skipped"),
    [("computer_call", 0), ("shell_call_output", 0), ("mcp_list_tools", 1), ("dream", 1)],
)
def test_only_items_of_unknown_kinds_are_counted_as_skipped(kind: str, skipped: int) -> None:
    last = read("responses", delta("Hi", 0) + item(kind, 1) + END).last
    assert last == done("completed", skipped=skipped)


def test_text_is_taken_together_as_long_as_it_goes_on_in_a_part() -> None:
    here, there, other = (
        SseEvent(data.removeprefix(b"data: ").strip(), b"response.output_text.delta")
        for data in (delta("a", 0), delta("b", 1), event("response.output_text.done"))
    )
    reader = ResponsesReader(ReplyAssembler(WireLimits()))
    assert reader.pieces([here]) == []  # it begins its part
    reader.feed(here)
    assert reader.pieces([here, here, there, here]) == ["a", "a"]
    assert reader.pieces([here, other, here]) == ["a"]
    assert reader.pieces([there]) == []


@pytest.mark.parametrize("more", [0, 1])
def test_endless_reasoning_is_not_kept(more: int) -> None:
    frame = size_of({"summary": [], "encrypted_content": ""})
    secret = "x" * (REPLAY_CHARS_MAX - frame + more)
    data = item("reasoning", id="rs_1", encrypted_content=secret)
    last = once("responses", data + END).last
    assert isinstance(last, DoneChunk)
    assert ("output" in last.replay) is not bool(more)


def test_the_text_between_reasoning_counts_too() -> None:
    thought = item("reasoning", 0, id="rs_1", encrypted_content="x" * (REPLAY_CHARS_MAX // 2))
    said = [{"type": "output_text", "text": "y" * (REPLAY_CHARS_MAX // 2)}]
    for data, kept in ((thought, True), (thought + item("message", 1, content=said), False)):
        last = once("responses", data + END).last
        assert isinstance(last, DoneChunk)
        assert ("output" in last.replay) is kept


def test_an_empty_custom_call() -> None:
    call = Call("python", {}, "c1", {"custom": True})
    told = body([user("Go!"), assistant(calls=[call]), tool_result(call, "ok")])["input"][1]
    assert told["input"] == ""


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("incomplete", {"reason": "max_output_tokens"}, "max_output_tokens"),
        ("incomplete", None, "incomplete"),
    ],
)
def test_an_end_that_says_otherwise_inside(status: str, details: Any, reason: str) -> None:
    """Some servers name every last event `response.completed`."""
    told = {"status": status, "output": [], "incomplete_details": details}
    last = read("responses", delta("Half a") + event("response.completed", response=told)).last
    assert last == done(reason)
    assert last.finish_reason == "length"
    failed = {"status": "failed", "error": {"code": "server_error", "message": "Oh."}}
    last = read("responses", event("response.completed", response=failed)).last
    assert last == ErrorChunk("model_error", "Oh.", retryable=True)
