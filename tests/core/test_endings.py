"""Every ending, at every position of a stream: the table of outcomes, row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minamo.core.chunks import (
    Call,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.config import StreamConfig
from minamo.core.stream import CHART, Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import Replayed, replay
from minamo.machine import Coverage, Machine
from support.audit import audit, run

REPLY = [
    "First paragraph.\n\nSecond ", "one. <thi", "nk>a thought", " goes on</think> after.\n\n",
    "```py\nx = 1\n", "y = 2\n", "```\nThen <details>", "kept", "</details> more", " and the end",
]  # fmt: skip
ERROR = ErrorChunk("api_error", "broken")
CALL = Call("roll", {"n": 6})


def moments(position: int, *ending: Moment) -> Replayed:
    told = [
        Moment(float(n), "chunk", chunk=TextChunk(part)) for n, part in enumerate(REPLY[:position])
    ]
    return replay(Trace(StreamConfig(), (*told, *ending)))


# what happens: (moment, status, stop reason, what becomes of the buffered text)
ENDINGS: dict[str, tuple[Callable[[float], list[Moment]], str, str | None, str]] = {
    "provider_ended": (lambda t: [Moment(t, "end")], "completed", None, ""),
    "done, then ended": (
        lambda t: [Moment(t, "chunk", chunk=DoneChunk("stop")), Moment(t, "end")], "completed", None, ""),
    "function_called": (
        lambda t: [Moment(t, "chunk", chunk=FunctionCall((CALL, CALL)))], "function_call", None, ""),
    "provider_failed": (lambda t: [Moment(t, "chunk", chunk=ERROR)], "error", None, ""),
    "went_silent": (lambda t: [], "timeout", "inactivity", ""),
    "stop by a person": (
        lambda t: [Moment(t, "stop", requester="7")], "stopped_by_user", "user_request", ""),
    "stop by the system": (lambda t: [Moment(t, "stop")], "stopped_by_user", "system_request", ""),
    "killed": (lambda t: [Moment(t, "kill")], "stopped_by_user", "killed", "killed"),
    "follow_up": (lambda t: [Moment(t, "follow_up")], "follow_up_interrupt", "follow_up", "follow_up"),
    "delivery_lost": (lambda t: [Moment(t, "delivery_lost")], "error", "delivery_lost", "undelivered"),
}  # fmt: skip

# The child of `closing` that says what decided.
CLOSING = dict(
    zip(
        ENDINGS,
        ("completing", "completing", "calling", "failing", "timing_out", "stopping", "stopping",
         "halting", "interrupting", "failing"),
        strict=True,
    )
)  # fmt: skip


@pytest.mark.no_cover  # measuring would be most of its time
@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("position", range(len(REPLY) + 1))
def test_the_first_thing_that_ends_a_stream_decides(name: str, position: int) -> None:
    make, status, reason, discarded = ENDINGS[name]
    done = moments(position, *make(float(position)))
    result = done.result

    if status == "completed" and position == 0:
        status = "empty_response"
    assert (result.status, result.stop_reason) == (status, reason)
    assert result.states[0] == "opening"
    assert result.states[-2:] == (CLOSING[name], status)
    text = "".join(REPLY[:position])
    audit(done, text)
    complete = moments(position, Moment(float(position), "end"))
    if discarded:
        hidden = result.suppressed.get(discarded, 0)
        assert hidden + len(result.accumulated_text) <= len(text)
        assert set(done.messages) <= set(complete.messages)
    else:
        assert done.messages == complete.messages
        assert result.accumulated_text == complete.result.accumulated_text
        assert not {"killed", "follow_up", "undelivered"} & set(result.suppressed)
    # Thoughts and details are kept whatever happened.
    assert done.thoughts == complete.thoughts
    assert done.details == complete.details
    if status == "function_call":
        assert result.data is CALL
        assert result.function_calls == (CALL, CALL)
    if name == "provider_failed":
        assert result.data is ERROR


@pytest.mark.parametrize("name", ENDINGS)
def test_whatever_comes_after_the_outcome_is_late(name: str) -> None:
    make = ENDINGS[name][0]
    first = moments(3, *make(3.0))
    late = [
        Moment(999.0, "chunk", chunk=TextChunk("late <think>text</think>")), Moment(999.0, "end"),
        Moment(999.0, "stop"), Moment(999.0, "kill"), Moment(999.0, "follow_up"),
        Moment(999.0, "delivery_lost"), Moment(999.0, "chunk", chunk=ERROR),
        Moment(999.0, "chunk", chunk=FunctionCall((CALL,))),
        Moment(999.0, "chunk", chunk=DoneChunk("stop")),
    ]  # fmt: skip
    second = moments(3, *make(3.0), *late)
    assert second.result.status == first.result.status
    assert second.result.stop_reason == first.result.stop_reason
    assert second.messages == first.messages
    assert second.thoughts == first.thoughts
    assert second.result.suppressed["late"] == len("late <think>text</think>")


def test_silence_is_exact() -> None:
    def chunks(*times: float) -> Replayed:
        told = tuple(Moment(t, "chunk", chunk=TextChunk("a ")) for t in times)
        return replay(Trace(StreamConfig(), (*told, Moment(times[-1], "end"))))

    assert chunks(120.0).result.status == "completed"  # exactly at the deadline is in time
    assert chunks(120.001).result.stop_reason == "inactivity"
    assert chunks(0.0, 120.0, 240.0).result.status == "completed"
    assert chunks(0.0, 120.1).result.status == "timeout"
    often = [float(t) for t in range(0, 901, 100)]
    assert chunks(*often).result.status == "completed"
    assert chunks(*often, 950.0).result.stop_reason == "deadline"


def test_an_empty_chunk_keeps_a_stream_alive() -> None:
    told = tuple(Moment(t, "chunk", chunk=TextChunk("")) for t in (0.0, 100.0, 200.0))
    done = replay(Trace(StreamConfig(), (*told, Moment(300.0, "end"))))
    assert done.result.status == "empty_response"
    assert done.result.states == ("opening", "streaming", "completing", "empty_response")


def test_clocks_also_run_after_done() -> None:
    told = (
        Moment(0.0, "chunk", chunk=TextChunk("a")),
        Moment(1.0, "chunk", chunk=DoneChunk("stop")),
    )
    assert replay(Trace(StreamConfig(), told)).result.status == "timeout"


# In `closing` a slow lane still has text; only a lane that is not idle gets there.


def fail(stream: Stream) -> None:
    stream.fail(ERROR)


def call(stream: Stream) -> None:
    stream.chunk(FunctionCall((CALL,), usage=Usage(3, 4)))


DECIDE: dict[str, Callable[[Stream], object]] = {
    "completing": Stream.end,
    "calling": call,
    "failing": fail,
    "timing_out": lambda stream: stream.ran_out("inactivity"),
    "stopping": lambda stream: stream.stop("7"),
    "halting": Stream.kill,
    "interrupting": Stream.follow_up,
}
TAKE_BACK: dict[str, Callable[[Stream], object]] = {
    "stop": lambda stream: stream.stop("8"),
    "follow_up": Stream.follow_up,
    "killed": Stream.kill,
    "limit": Stream.limit_reached,
}
STOPPED = {"stop": "user_request", "killed": "killed", "limit": "send_message_limit"}
#: What stands when nothing is taken back.
STATUS: dict[str, tuple[str, str | None]] = {
    "completing": ("completed", None),
    "calling": ("function_call", None),
    "failing": ("error", None),
    "timing_out": ("timeout", "inactivity"),
    "stopping": ("stopped_by_user", "user_request"),
    "halting": ("stopped_by_user", "killed"),
    "interrupting": ("follow_up_interrupt", "follow_up"),
}


def closing(by: str = "completing") -> Stream:
    """A stream whose end is decided while its second message waits for the first."""
    stream = Stream()
    stream.chunk(TextChunk("One.\n\nTwo."))
    stream.delivered(len(stream.actions.outbox.take(1)))
    DECIDE[by](stream)
    assert stream.state == by
    return stream


def expected(by: str, taker: str) -> tuple[str, str | None]:
    """The outcome when *taker* comes while unsent text waits."""
    if by in ("completing", "calling"):
        if taker == "follow_up":
            return "follow_up_interrupt", "follow_up"
        return "stopped_by_user", STOPPED[taker]
    if by == "stopping" and taker in ("killed", "limit"):
        return "stopped_by_user", STOPPED[taker]
    return STATUS[by]


@pytest.mark.parametrize("taker", TAKE_BACK)
@pytest.mark.parametrize("by", DECIDE)
def test_whatever_takes_unsent_text_back_decides_the_outcome(by: str, taker: str) -> None:
    stream = closing(by)
    TAKE_BACK[taker](stream)
    promised = by == "stopping" and taker in ("stop", "follow_up")
    sent = stream.actions.outbox.take()
    assert [message.text for message in sent] == (["Two."] if promised else [])
    stream.delivered(len(sent))
    stream.flushed()
    result = stream.result()
    assert (result.status, result.stop_reason) == expected(by, taker)
    assert result.accumulated_text == ("One.\n\nTwo." if promised else "One.")
    took = {"halting": "killed", "interrupting": "follow_up"}.get(by, taker)
    assert result.suppressed.get(took, 0) == (0 if promised else len("Two."))
    if result.status != "function_call":
        assert (result.data, result.function_calls) == ((ERROR if by == "failing" else None), ())
    if by == "calling":
        assert result.usage == Usage(3, 4)


@pytest.mark.parametrize("taker", ["stop", "follow_up", "killed"])
@pytest.mark.parametrize("by", DECIDE)
def test_where_nothing_is_left_to_take_back_the_outcome_stays(by: str, taker: str) -> None:
    stream = closing(by)
    sent = stream.actions.outbox.take()  # its call is out
    TAKE_BACK[taker](stream)
    stream.delivered(len(sent))
    stream.flushed()
    assert (stream.result().status, stream.result().stop_reason) == STATUS[by]


def test_a_message_that_comes_back_unsent_was_taken_back() -> None:
    """Its call was out and answered with a 429: nothing is repeated for a reply that was stopped."""
    stream = closing()
    (message,) = stream.actions.outbox.take()
    stream.stop("8")
    assert stream.state == "completing"
    stream.missed(1, "stop")
    stream.flushed()
    result = stream.result()
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
    assert (result.accumulated_text, result.suppressed["stop"]) == ("One.", len(message.text))


def test_a_reply_of_which_nothing_was_shown_before_a_stop_is_not_empty() -> None:
    stream = Stream()
    stream.chunk(TextChunk("One."))
    stream.end()
    stream.kill()
    stream.flushed()
    assert (stream.result().status, stream.result().stop_reason) == ("stopped_by_user", "killed")


def test_blanks_that_are_taken_back_change_nothing() -> None:
    stream = Stream()
    stream.chunk(TextChunk("  \n"))
    stream.end()
    stream.stop("7")
    stream.flushed()
    assert stream.state == "empty_response"


@pytest.mark.parametrize("by", [by for by in DECIDE if by != "completing"])
def test_a_loss_in_closing_does_not_change_another_outcome(by: str) -> None:
    stream = closing(by)
    stream.delivery_lost()
    stream.flushed()
    assert (stream.state, stream.result().stop_reason) == STATUS[by]


def test_a_reply_that_did_not_arrive_is_not_completed() -> None:
    stream = closing()
    stream.delivery_lost()
    stream.flushed()
    assert (stream.state, stream.result().stop_reason) == ("error", "delivery_lost")


def test_a_result_before_the_outcome_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="still opening; wait for its outcome"):
        Stream().result()


def test_a_stream_that_overran_and_one_that_failed_outside() -> None:
    stream = Stream()
    stream.ran_out("deadline")
    stream.flushed()
    assert stream.result().stop_reason == "deadline"
    stream = Stream()
    stream.fail(ERROR)
    assert not stream.ended
    stream.flushed()
    assert stream.ended
    assert stream.result().data is ERROR


def test_p09_every_row_of_the_chart_is_taken_by_a_real_run(
    figure: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    coverage = Coverage(CHART)
    make = Machine.__init__

    def watched(self: Machine, *given: object, **named: object) -> None:
        make(self, *given, **named)  # type: ignore[arg-type]
        self.subscribe(coverage)

    monkeypatch.setattr(Machine, "__init__", watched)
    for name, (ending, *_) in ENDINGS.items():
        for position in range(len(REPLY) + 1):
            moments(position, *ending(float(position)))
        test_whatever_comes_after_the_outcome_is_late(name)
    for text in ("<think>a<think>b</think></think>", "<details>a<details>b</details></details>",
                 "```\n" + "x\n" * 9_000, "a</think>b\n\nc</think>d", "a</details>", "</think>a",
                 "<details>a", "```\na", "<think>a<think>b</think>c"):  # fmt: skip
        replay(Trace(StreamConfig(), (Moment(0, "chunk", chunk=TextChunk(text)), Moment(0, "end"))))
    first_done = (Moment(0, "chunk", chunk=DoneChunk("stop")), Moment(0, "end"))
    replay(Trace(StreamConfig(), first_done))
    file = Moment(0, "chunk", chunk=FileChunk(b"data"))
    replay(Trace(StreamConfig(), (file, file, Moment(0, "end"), file)))
    guarded = StreamConfig(speaker_names=("Bob",), send_message_limit=1)
    replay(Trace(guarded, (Moment(0, "chunk", chunk=TextChunk("a\nBob: b")), Moment(0, "end"))))
    replay(Trace(guarded, (Moment(0, "chunk", chunk=TextChunk("a\n\nb\n\nc")), Moment(0, "end"))))
    for by in DECIDE:
        for taker in TAKE_BACK:
            test_whatever_takes_unsent_text_back_decides_the_outcome(by, taker)
        stream = closing(by)
        stream.chunk(DoneChunk("stop"))
        stream.delivery_lost()
        stream.chunk(TextChunk("late"))
    figure(f"transition coverage by real runs: {coverage}")
    assert coverage.missing == []


HALF = "late\ud83d"


def end(stream: Stream) -> None:
    stream.end()


LATE: dict[str, tuple[Callable[[Stream], object], dict[str, object], str]] = {
    "the end": (end, {}, "late"),
    "a stop": (Stream.stop, {}, "late"),
    "a kill": (Stream.kill, {}, "late"),
    "a follow-up": (Stream.follow_up, {}, "late"),
    "a message that was lost": (Stream.delivery_lost, {}, "late"),
    "the limit": (Stream.limit_reached, {}, "limit"),
    "the guard": (lambda stream: stream.chunk(TextChunk("Hi.\nBob: I")), {"speaker_names": ["Bob"]},
                  "speaker_guard"),
}  # fmt: skip


@pytest.mark.parametrize("flushed_first", [False, True])
@pytest.mark.parametrize("name", LATE)
def test_half_a_character_that_comes_too_late_is_booked(name: str, flushed_first: bool) -> None:
    decide, settings, reason = LATE[name]
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    decide(stream)
    before = sum(stream.actions.ledger.suppressed.values())
    if flushed_first:
        stream.flushed()
    stream.chunk(TextChunk(HALF))
    if not flushed_first:
        stream.flushed()
    result = stream.result()
    # It was replaced, and what replaced it is not shown.
    assert result.suppressed["surrogate"] == result.additions["surrogate"] == 1
    assert sum(result.suppressed.values()) - before == len(HALF) + 1
    assert result.suppressed[reason] >= len(HALF)
    assert stream.result() == result


def test_half_a_character_behind_what_the_guard_cut_off_is_booked() -> None:
    stream = Stream(StreamConfig(speaker_names=["Bob"]))
    stream.chunk(TextChunk("Yes.\nBob: no\ud83d"))
    assert stream.state == "completing"
    stream.flushed()
    assert dict(stream.result().suppressed) == {"speaker_guard": 9, "surrogate": 1}


def test_the_other_half_may_come_too_late_as_well() -> None:
    stream = Stream()
    stream.end()
    for half in ("\ud83d", "\ude00"):
        stream.chunk(TextChunk(half))
    stream.flushed()
    assert dict(stream.result().suppressed) == {"late": 1}


def test_delivery_that_answers_too_early_decides_nothing() -> None:
    stream = Stream()
    stream.chunk(TextChunk("Hi <th"))
    stream.flushed()
    stream.chunk(TextChunk("ink>hm</think>"))
    stream.end()
    stream.flushed()
    assert stream.result().thought_log == ("hm",)


@pytest.mark.parametrize("ending", ["stop", "end", ""])
def test_a_label_in_text_that_is_read_at_the_end_hides_and_decides_nothing(ending: str) -> None:
    """The thought only mentioned its tag; what follows is found to be text when the stream ends."""
    hidden = "\nAnn: so\n```py\nx = 1\n```\nand more"
    text = f"<think>I use <think> a lot</think> Hi.{hidden}"
    done = run([text], ending=ending, speaker_names=["Ann"])
    audit(done, text)
    result = done.result
    expected = {
        "stop": ("stopped_by_user", "system_request"),
        "end": ("completed", None),
        "": ("timeout", "inactivity"),
    }
    assert (result.status, result.stop_reason) == expected[ending]
    assert list(done.messages) == ["Hi."]
    assert result.suppressed["speaker_guard"] == len(hidden)


@pytest.mark.parametrize("name", ["provider_ended", "provider_failed", "stop by a person"])
def test_a_label_in_text_that_is_read_again_hides_the_rest_and_does_not_decide(name: str) -> None:
    ending, status, reason, _ = ENDINGS[name]
    # The thought merely mentions its tag: what follows the closing one is text after all.
    text = "<think>a<think>b</think>Hi.\nBob: I"
    config = StreamConfig(speaker_names=("Bob",))
    done = replay(Trace(config, (Moment(0.0, "chunk", chunk=TextChunk(text)), *ending(1.0))))
    assert (done.result.status, done.result.stop_reason) == (status, reason)
    assert done.messages == ("Hi.",)
    assert done.result.suppressed["speaker_guard"] == len("\nBob: I")
    audit(done, text)
