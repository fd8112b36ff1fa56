"""Facts 8 to 13: what Anthropic really sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import CITATIONS_MAX, Chunk, Citation, DoneChunk, ErrorChunk, Usage
from minamo.wire.conversation import assistant, tool_result, user
from minamo.wire.limits import PAUSES_MAX, REPLAY_CHARS_MAX
from support.recordings import ORIGIN, Said, adapter, done, gathered, once, read, replayed

ROLL = ("roll", {"sides": 6})
USAGE = Usage(13, 12, 3, 4)


def event(**frame: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(frame["type"]).encode(), json.dumps(frame).encode())


def start(index: int, **block: object) -> bytes:
    return event(type="content_block_start", index=index, content_block=block)


def delta(index: int, **change: object) -> bytes:
    return event(type="content_block_delta", index=index, delta=change)


BEGIN = event(type="message_start", message={"id": "m", "model": "c"})
STOP = event(type="message_stop")
END = event(type="message_delta", delta={"stop_reason": "end_turn"}) + STOP


def test_plain_text_with_usage() -> None:
    said = replayed("anthropic-text")

    assert said.text == "Hello there."
    assert said.last == done("end_turn", USAGE, "claude-x")


def test_fact_08_pings_come_anywhere() -> None:
    said = replayed("anthropic-08-pings")

    assert said.text == "Hi"
    assert said.last == done("end_turn", USAGE, "claude-x")


def test_fact_09_server_tools_do_not_leak() -> None:
    said = replayed("anthropic-09-server-tools")

    assert (said.text, said.thoughts, said.calls) == ("I look. Found.", "", [])


@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("input-in-start", "", [ROLL]),
        ("empty-delta", "", [("now", {})]),
        ("whole-message", "I roll.", [ROLL]),
    ],
)
def test_fact_10_where_a_calls_input_may_be(name: str, text: str, calls: object) -> None:
    said = replayed(f"anthropic-10-{name}")

    assert (said.text, said.calls) == (text, calls)
    assert isinstance(said.last, DoneChunk)
    assert said.last.raw_finish_reason == "tool_use"


def test_fact_11_text_split_by_citations_and_server_tools() -> None:
    assert replayed("anthropic-11-citations").text == "The sky is blue."


def test_fact_12_an_echo_of_the_start_is_ignored() -> None:
    assert replayed("anthropic-12-duplicate-start").text == "Hi"


def test_fact_12_a_spliced_message_gives_no_half_call() -> None:
    said = replayed("anthropic-12-spliced")

    assert (said.text, said.calls) == ("Hi", [])
    assert said.last == ErrorChunk("api_error", "a second reply inside the first", retryable=True)


def test_fact_13_a_refusal_may_be_all_there_is() -> None:
    assert replayed("anthropic-13-refusal").last == ErrorChunk(
        "content_blocked", "This could enable harm."
    )
    silent = event(type="message_delta", delta={"stop_reason": "refusal", "stop_details": None})
    assert read("anthropic", BEGIN + silent).last == ErrorChunk("content_blocked", "refused")


def test_thinking_is_kept_for_the_next_request() -> None:
    said = replayed("anthropic-thinking")
    blocks = [
        {"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
    ]

    assert said.thoughts == "Let me think."
    assert said.text == "I roll. "
    assert said.calls == [ROLL, ("flip", {"coins": 2})]
    replay = {"thinking": blocks, **ORIGIN}
    assert said.raw_calls[0].replay == replay
    assert said.last == done("tool_use", USAGE, "claude-x", replay=replay)


def test_thinking_keeps_its_place_among_text() -> None:
    """Interleaved thinking: moved to the front, it is refused as modified."""
    data = (
        start(0, type="thinking", thinking="")
        + delta(0, type="thinking_delta", thinking="One. \ud83d")
        + delta(0, type="thinking_delta", thinking="\ude00")
        + delta(0, type="signature_delta", signature="c2lnMQ==")
        + start(1, type="text", text="")
        + delta(1, type="text_delta", text="I look.")
        + delta(1, type="text_delta", text=" ")
        + start(2, type="redacted_thinking", data="b3BhcXVl")
        + start(3, type="text", text="\n")
        + start(4, type="text", text="I roll.")
        + start(5, type="tool_use", id="t1", name="roll", input={"sides": 6})
    )
    said = read("anthropic", BEGIN + data + END)
    call = said.raw_calls[0]
    request = adapter("anthropic").chat([user("Go!"), assistant(said.text, calls=[call]),
                                         tool_result(call, "4")]).request  # fmt: skip

    assert said.text == "I look. \nI roll."
    assert json.loads(request.body)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "One. 😀", "signature": "c2lnMQ=="},
        {"type": "text", "text": "I look. "},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I roll."},
        {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}},
    ]


def test_unsigned_or_endless_thinking_is_not_sent_back() -> None:
    unsigned = start(0, type="thinking", thinking="Hm.") + delta(0, type="signature_delta")
    said = read("anthropic", BEGIN + unsigned + END)
    assert (said.thoughts, said.last) == ("Hm.", done("end_turn", None, "c"))

    long = delta(0, type="thinking_delta", thinking="x" * 60_000) * 18
    signed = start(0, type="thinking", signature="c2ln") + long
    said = once("anthropic", BEGIN + signed + END)
    assert said.last == done("end_turn", None, "c")


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("error", "Half a", ErrorChunk("provider_overloaded", "Overloaded", retryable=True)),
        (
            "cut",
            "Half a",
            ErrorChunk("api_error", "the stream ended in the middle of the reply", retryable=True),
        ),
        (
            "broken-arguments",
            "",
            ErrorChunk("model_error", "tool arguments are not JSON", retryable=True),
        ),
    ],
)
def test_what_goes_wrong(name: str, text: str, error: ErrorChunk) -> None:
    said = replayed(f"anthropic-{name}")

    assert (said.text, said.calls, said.last) == (text, [], error)


def test_length_and_a_missing_end_mark_are_fine() -> None:
    assert replayed("anthropic-length").last == done("max_tokens", USAGE, "claude-x")
    stop = event(type="message_delta", delta={"stop_reason": "end_turn"})
    assert read("anthropic", BEGIN + stop).last == done("end_turn", None, "c")


def test_a_message_that_stops_without_a_reason_is_complete() -> None:
    said = read("anthropic", BEGIN + delta(0, type="text_delta", text="Hi") + STOP)

    assert said.text == "Hi"
    assert said.last == done("", None, "c")


@pytest.mark.parametrize(
    "between", [delta(1, type="text_delta", text="2"), delta(0, type="text_delta", text="")]
)
def test_texts_of_one_read_stay_in_order(between: bytes) -> None:
    first, third = (delta(0, type="text_delta", text=text) for text in "13")
    said = once("anthropic", BEGIN + start(0, type="text") + first + between + third + END)

    assert said.text == ("123" if b'"2"' in between else "13")


def test_unknown_events_and_deltas_are_skipped() -> None:
    assert replayed("anthropic-unknown-events").text == "Hi"


def test_odd_frames_that_say_nothing() -> None:
    odd = [
        b"event: ping\ndata: {broken\n\n",
        b"event: x\ndata: \n\n",
        b"event: ping\ndata: {}\n\n",
        event(type="message_delta"),
        start(0, type="text"),
        delta(0, type="text_delta", text=""),
        delta(0, type="citations_delta"),
        start(8, type="server_tool_use"),
        delta(8, type="input_json_delta", partial_json="{"),
        delta(8, type="text_delta"),
        start(1, type="redacted_thinking", data=7),
        start(2, type="thinking"),
    ]
    said = read("anthropic", BEGIN + b"".join(odd) + END)

    assert (said.text, said.thoughts, said.calls) == ("", "", [])
    assert isinstance(said.last, DoneChunk)


def test_a_block_that_nobody_opened_is_what_its_delta_says() -> None:
    said = read("anthropic", BEGIN + delta(0, type="text_delta", text="Hi") + END)

    assert said.text == "Hi"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"event: x\ndata: {broken\n\n", "a frame that is not what it should be"),
        (delta(0, type="text_delta", text=7), "a frame that is not what it should be"),
        (event(type="message_start"), "a message that is not what it should be"),
        (
            event(type="content_block_start", index=0, content_block=[7]),
            "a block that is not what it should be",
        ),
        (start(0, type="server_tool_use") * 5_000, ""),
        (b"".join(start(i, type="x") for i in range(5_000)), "too many blocks in one reply"),
    ],
)
def test_a_provider_that_lies(data: bytes, message: str) -> None:
    said = once("anthropic", data + BEGIN + END)

    if message:
        assert said.last == ErrorChunk("model_error", message, retryable="frame" in message)
    else:
        assert isinstance(said.last, DoneChunk)


@pytest.mark.parametrize("whole", [False, True])
def test_endless_arguments_end_at_once(whole: bool) -> None:
    text = "x" * 60_000
    if whole:
        data = b"".join(start(i, type="tool_use", name="a", input={"a": text}) for i in range(5))
    else:
        data = start(0, type="tool_use", name="a")
        data += delta(0, type="input_json_delta", partial_json=text) * 5
    said = once("anthropic", BEGIN + data)

    assert said.last == ErrorChunk("model_error", "tool arguments too long", retryable=True)


def test_input_that_is_no_object() -> None:
    said = read("anthropic", BEGIN + start(0, type="tool_use", name="a", input=[1]) + END)

    assert said.last == ErrorChunk(
        "model_error", "tool arguments are not an object", retryable=True
    )


def test_usage_of_the_wrong_type_is_no_error() -> None:
    odd = event(type="message_delta", delta={"stop_reason": "end_turn"}, usage="a lot")

    assert read("anthropic", BEGIN + odd).last == done("end_turn", None, "c")


@pytest.mark.parametrize(
    ("frame", "lacks"),
    [
        (event(type="content_block_delta", index=0), "its delta"),
        (event(type="content_block_delta", delta={"type": "text_delta", "text": "a"}), "its index"),
        (event(type="content_block_start", index=3), "its block"),
        (event(type="content_block_start", content_block={"type": "text"}), "its index"),
        (start(3), "the type of its block"),
        (delta(0, text="a"), "the type of its delta"),
        (delta(0, type="text_delta"), "the text of its delta"),
        (delta(3, type="text_delta"), "the text of its delta"),
        (delta(0, type="thinking_delta", thinking="not here"), "a block for its delta"),
        (delta(1, type="text_delta", text="not here"), "a block for its delta"),
        (delta(1, type="input_json_delta"), "the partial_json of its delta"),
        (delta(9, type="input_json_delta", partial_json="{"), "a block for its delta"),
        (b'data: {"index": 0, "delta": {"type": "text_delta", "text": "a"}}\n\n', "its type"),
    ],
)
def test_a_frame_without_what_its_type_promises_is_an_error(frame: bytes, lacks: str) -> None:
    opened = [start(0, type="text"), start(1, type="tool_use", name="roll", id="t")]
    for first, last in (opened, opened[::-1]):
        data = BEGIN + first + last + delta(0, type="text_delta", text="Hi") + frame + END
        said = read("anthropic", data)

        assert (said.text, said.calls) == ("Hi", [])
        error = ErrorChunk("model_error", f"a frame that lacks {lacks}", retryable=True)
        assert said.last == error


def test_a_type_may_stand_in_the_name_of_the_event_alone() -> None:
    frame = (
        b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"a"}}'
    )
    assert read("anthropic", BEGIN + start(0, type="text") + frame + b"\n\n" + END).text == "a"


# A reply that the service pauses in the middle of its own tools.

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "caller": {"type": "direct"},
         "content": [{"type": "web_search_result", "url": "https://a.invalid", "title": "A",
                      "encrypted_content": "c2VjcmV0", "page_age": None}]}  # fmt: skip
SOURCE = {"type": "web_search_result_location", "url": "https://a.invalid", "title": "A",
          "encrypted_index": "aQ==", "cited_text": "Tides"}  # fmt: skip


def part(*blocks: bytes, reason: str = "pause_turn", **told: object) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 2}
    begin = event(type="message_start", message={"id": "m", "model": "c", "usage": usage})
    end = event(type="message_delta", delta={"stop_reason": reason, **told})
    return begin + b"".join(blocks) + end + event(type="message_stop")


def paused(parts: list[bytes], cut: int, request: Any) -> tuple[Said, list[Any]]:
    """What is read of the parts of a reply, and the bodies that asked for them."""
    response = adapter("anthropic")._response(PAUSES_MAX)
    chunks: list[Chunk] = []
    asked, bodies = request, []
    for data in parts:
        assert asked is not None, "more parts than were asked for"
        bodies.append(json.loads(asked.body))
        for at in range(0, len(data), cut):
            chunks += response.read(data[at : at + cut])
        chunks += response.read(None)
        asked = response.resume(request)
    assert asked is None
    return gathered(chunks), bodies


FIRST = part(
    start(0, type="thinking", thinking="", signature=""),
    delta(0, type="thinking_delta", thinking="Tides?"),
    delta(0, type="signature_delta", signature="c2ln"),
    start(1, type="text", text=""),
    delta(1, type="text_delta", text="I look. "),
    start(2, **SEARCH),
    delta(2, type="input_json_delta", partial_json=""),
    delta(2, type="input_json_delta", partial_json='{"query":'),
    delta(2, type="input_json_delta", partial_json='"tides"}'),
    container={"id": "container_1", "expires_at": "later"},
)
SECOND = part(
    start(0, **FOUND),
    start(1, type="text", text="", citations=[]),
    delta(1, type="citations_delta", citation=SOURCE),
    delta(1, type="text_delta", text="Twice a day"),
    event(type="content_block_stop", index=1),
    start(2, type="text", text="."),
    reason="end_turn",
)


@pytest.mark.no_cover  # measuring would be most of its time
@pytest.mark.parametrize("cut", [1, 7, 10**6])
def test_a_paused_reply_goes_on_with_its_blocks(cut: int) -> None:
    request = adapter("anthropic").ask("Tides?", web_search=True).request
    said, (first, second) = paused([FIRST, SECOND], cut, request)

    assert (said.text, said.thoughts, said.calls) == ("I look. Twice a day.", "Tides?", [])
    assert isinstance(said.last, DoneChunk)
    assert (said.last.finish_reason, said.last.usage) == ("stop", Usage(24, 8, None, 4))
    assert said.last.citations == (Citation("https://a.invalid", "A", ((8, 19),)),)
    blocks = [
        {"type": "thinking", "thinking": "Tides?", "signature": "c2ln"},
        {"type": "text", "text": "I look. "},
        SEARCH | {"input": {"query": "tides"}},
    ]
    assert second.pop("container") == "container_1"
    assert second.pop("messages") == [
        *first.pop("messages"),
        {"role": "assistant", "content": blocks},
    ]
    assert second == first
    params = pytest.importorskip("anthropic.types.message_create_params")
    pydantic = pytest.importorskip("pydantic")
    message = pydantic.TypeAdapter(params.MessageParam)
    message.validate_python({"role": "assistant", "content": blocks})


def test_a_reply_that_pauses_twice_repeats_all_of_it() -> None:
    again = part(start(0, **FOUND), start(1, type="text", text="More. "))
    request = adapter("anthropic").ask("Tides?", web_search=True).request
    said, bodies = paused([FIRST, again, SECOND], 9, request)

    assert said.text == "I look. More. Twice a day."
    assert [len(body["messages"]) for body in bodies] == [1, 2, 2]
    assert [block["type"] for block in bodies[2]["messages"][1]["content"]] == [
        "thinking", "text", "server_tool_use", "web_search_tool_result", "text",
    ]  # fmt: skip
    assert bodies[2]["messages"][1]["content"][-1]["text"] == "More."


def test_the_blocks_after_a_pause_are_other_blocks() -> None:
    before = part(start(0, type="text", text="I look. "), start(1, **SEARCH))
    after = part(
        delta(0, type="thinking_delta", thinking="Tides?"),  # a block that was not opened
        start(1, type="text", text="Twice a day."),
        reason="end_turn",
    )
    request = adapter("anthropic").ask("Tides?", web_search=True).request
    said, _ = paused([before, after], 10**6, request)
    assert (said.text, said.thoughts) == ("I look. Twice a day.", "Tides?")


def test_pauses_come_to_an_end() -> None:
    request = adapter("anthropic").ask("Tides?", web_search=True).request
    looking = part(start(0, type="text", text="Hm. "), start(1, **SEARCH))
    said, bodies = paused([looking] * (PAUSES_MAX + 1), 10**6, request)

    assert said.text == "Hm. " * (PAUSES_MAX + 1)
    assert isinstance(said.last, DoneChunk)
    assert said.last.finish_reason == "pause"
    assert len(bodies[-1]["messages"][1]["content"]) == 2 * PAUSES_MAX


@pytest.mark.parametrize(
    "blocks",
    [
        b"",
        start(0, type="thinking", thinking="Hm."),
        start(0, **SEARCH) + delta(0, type="input_json_delta", partial_json="{"),
        start(0, **SEARCH) + delta(0, type="brand_new_delta"),
        start(0, **SEARCH) + start(1, type="tool_use", name="roll", id="t", input={}),
        start(0, **(SEARCH | {"id": "x" * REPLAY_CHARS_MAX})),
    ],
)
def test_a_reply_that_cannot_be_repeated_stays_paused(blocks: bytes) -> None:
    said, bodies = paused([part(blocks)], 10**6, adapter("anthropic").ask("Hi").request)

    assert isinstance(said.last, DoneChunk)
    assert (said.last.raw_finish_reason, len(bodies)) == ("pause_turn", 1)


def test_results_of_a_search_go_back_with_the_calls_after_it() -> None:
    call_last = start(5, type="tool_use", id="t1", name="roll", input={"sides": 6})
    data = part(start(0, **SEARCH), start(1, **FOUND), start(2, type="text", text="So."),
                delta(2, type="citations_delta", citation=SOURCE), call_last, reason="tool_use")  # fmt: skip
    call = read("anthropic", data).raw_calls[0]
    history = [user("Go!"), assistant("So.", calls=[call]), tool_result(call, "4")]
    llm = adapter("anthropic")

    def repeated(messages: list[Any], **options: Any) -> list[Any]:
        told = json.loads(llm.chat(messages, **options).request.body)["messages"]
        return list(told[1]["content"])

    roll = {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}}
    plain = [{"type": "text", "text": "So."}, roll]
    whole = [SEARCH, FOUND, {"type": "text", "text": "So.", "citations": [SOURCE]}, roll]
    assert repeated(history, web_search=True) == whole
    assert repeated(history, extra={"tools": []}) == whole
    # Without the tool that made them they are refused, and so is a part of them.
    assert repeated(history) == plain
    other = [user("Go!"), assistant("So.", calls=[call, call]), *(tool_result(call, "4"),) * 2]
    assert repeated(other, web_search=True)[0] == plain[0]


def test_results_of_a_search_do_not_go_back_with_a_final_answer() -> None:
    data = part(start(0, type="thinking", thinking="Hm.", signature="c2ln"), start(1, **SEARCH),
                start(2, **FOUND), start(3, type="text", text="So."), reason="end_turn")  # fmt: skip
    assert read("anthropic", data).last == done("end_turn", Usage(12, 4, None, 2), "c")


@pytest.mark.parametrize("found", [7, {}, {"id": 7}, None])
def test_a_container_of_another_form_is_none(found: object) -> None:
    data = part(start(0, **SEARCH), container=found)
    said, bodies = paused([data, SECOND], 10**6, adapter("anthropic").ask("Hi").request)
    assert said.text == "Twice a day."
    assert "container" not in bodies[1]


def test_endless_sources_are_bounded() -> None:
    long = SOURCE | {"cited_text": "x" * 60_000}
    many = b"".join(
        delta(0, type="citations_delta", citation=long | {"url": f"https://a.invalid/{number}"})
        for number in range(CITATIONS_MAX + 9)
    )
    said = once("anthropic", part(start(0, type="text", text="Hi."), many, reason="end_turn"))
    assert isinstance(said.last, DoneChunk)
    assert (said.text, len(said.last.citations), said.last.replay) == ("Hi.", CITATIONS_MAX, {})
