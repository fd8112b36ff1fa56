"""Facts 8 to 13: what Anthropic really sends."""

from __future__ import annotations

import json

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk, Usage
from minamo.wire.conversation import assistant, tool_result, user
from support.recordings import adapter, done, once, read, replayed

ROLL = ("roll", {"sides": 6})
USAGE = Usage(13, 12, 3, 4)


def event(**frame: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(frame["type"]).encode(), json.dumps(frame).encode())


def start(index: int, **block: object) -> bytes:
    return event(type="content_block_start", index=index, content_block=block)


def delta(index: int, **change: object) -> bytes:
    return event(type="content_block_delta", index=index, delta=change)


BEGIN = event(type="message_start", message={"id": "m", "model": "c"})
END = event(type="message_delta", delta={"stop_reason": "end_turn"}) + event(type="message_stop")


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
    assert said.raw_calls[0].replay == {"thinking": blocks}
    assert said.last == done("tool_use", USAGE, "claude-x", replay={"thinking": blocks})


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
        (start(0, type="server_tool_use") * 5_000, ""),
        (b"".join(start(i, type="x") for i in range(5_000)), "too many blocks in one reply"),
    ],
)
def test_a_provider_that_lies(data: bytes, message: str) -> None:
    said = once("anthropic", data + BEGIN + END)

    if message:
        assert said.last == ErrorChunk("model_error", message)
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
    opened = start(0, type="text") + start(1, type="tool_use", name="roll", id="t")
    said = read("anthropic", BEGIN + opened + delta(0, type="text_delta", text="Hi") + frame + END)

    assert (said.text, said.calls) == ("Hi", [])
    assert said.last == ErrorChunk("model_error", f"a frame that lacks {lacks}", retryable=True)


def test_a_type_may_stand_in_the_name_of_the_event_alone() -> None:
    frame = (
        b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"a"}}'
    )
    assert read("anthropic", BEGIN + start(0, type="text") + frame + b"\n\n" + END).text == "a"
