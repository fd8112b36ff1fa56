"""Every ending, at every position of a stream: the table of outcomes, row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from books import audit, run
from minamo.core.chunks import Call, Done, Error, FunctionCall, Text
from minamo.core.config import StreamConfig
from minamo.core.stream import CHART, Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import Replayed, replay
from minamo.machine import Coverage, Machine

REPLY = [
    "First paragraph.\n\nSecond ", "one. <thi", "nk>a thought", " goes on</think> after.\n\n",
    "```py\nx = 1\n", "y = 2\n", "```\nThen <details>", "kept", "</details> more", " and the end",
]  # fmt: skip
ERROR = Error("api_error", "broken")
CALL = Call("roll", {"n": 6})


def moments(position: int, *ending: Moment) -> Replayed:
    told = [Moment(float(n), "chunk", chunk=Text(part)) for n, part in enumerate(REPLY[:position])]
    return replay(Trace(StreamConfig(), (*told, *ending)))


# what happens: (moment, status, stop reason, what becomes of the buffered text)
ENDINGS: dict[str, tuple[Callable[[float], list[Moment]], str, str | None, str]] = {
    "provider_ended": (lambda t: [Moment(t, "end")], "completed", None, ""),
    "done, then ended": (
        lambda t: [Moment(t, "chunk", chunk=Done("stop")), Moment(t, "end")], "completed", None, ""),
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
    assert result.states[-2:] == ("closing", status)
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
        Moment(999.0, "chunk", chunk=Text("late <think>text</think>")), Moment(999.0, "end"),
        Moment(999.0, "stop"), Moment(999.0, "kill"), Moment(999.0, "follow_up"),
        Moment(999.0, "delivery_lost"), Moment(999.0, "chunk", chunk=ERROR),
        Moment(999.0, "chunk", chunk=FunctionCall((CALL,))),
        Moment(999.0, "chunk", chunk=Done("stop")),
    ]  # fmt: skip
    second = moments(3, *make(3.0), *late)
    assert second.result.status == first.result.status
    assert second.result.stop_reason == first.result.stop_reason
    assert second.messages == first.messages
    assert second.thoughts == first.thoughts
    assert second.result.suppressed["late"] == len("late <think>text</think>")


def test_silence_is_exact() -> None:
    def chunks(*times: float) -> Replayed:
        told = tuple(Moment(t, "chunk", chunk=Text("a ")) for t in times)
        return replay(Trace(StreamConfig(), (*told, Moment(times[-1], "end"))))

    assert chunks(120.0).result.status == "completed"  # exactly at the deadline is in time
    assert chunks(120.001).result.stop_reason == "inactivity"
    assert chunks(0.0, 120.0, 240.0).result.status == "completed"
    assert chunks(0.0, 120.1).result.status == "timeout"
    often = [float(t) for t in range(0, 901, 100)]
    assert chunks(*often).result.status == "completed"
    assert chunks(*often, 950.0).result.stop_reason == "deadline"


def test_an_empty_chunk_keeps_a_stream_alive() -> None:
    told = tuple(Moment(t, "chunk", chunk=Text("")) for t in (0.0, 100.0, 200.0))
    done = replay(Trace(StreamConfig(), (*told, Moment(300.0, "end"))))
    assert done.result.status == "empty_response"
    assert done.result.states == ("opening", "streaming", "closing", "empty_response")


def test_clocks_also_run_after_done() -> None:
    told = (Moment(0.0, "chunk", chunk=Text("a")), Moment(1.0, "chunk", chunk=Done("stop")))
    assert replay(Trace(StreamConfig(), told)).result.status == "timeout"


# In `closing` a slow lane still has text; only a lane that is not idle gets there.


def closing(degree: int = 1) -> Stream:
    stream = Stream(StreamConfig(degree=degree))
    stream.chunk(Text("One.\n\nTwo."))
    stream.end()
    assert stream.state == "closing"
    return stream


@pytest.mark.parametrize(
    ("what", "reason"),
    [("stop", "stop"), ("follow_up", "follow_up"), ("kill", "killed"), ("limit_reached", "limit")],
)
def test_in_closing_the_status_stays_and_what_waits_is_withdrawn(what: str, reason: str) -> None:
    stream = closing()
    stream.delivered(len(stream.actions.outbox.take(1)))
    getattr(stream, what)()
    stream.flushed()
    result = stream.result()
    assert (result.status, result.stop_reason) == ("completed", None)
    assert result.accumulated_text == "One."
    assert result.suppressed[reason] == len("Two.")


def test_a_reply_that_did_not_arrive_is_not_completed() -> None:
    stream = closing()
    stream.delivery_lost()
    stream.flushed()
    assert (stream.state, stream.result().stop_reason) == ("error", "delivery_lost")
    assert stream.actions.lost


def test_a_loss_in_closing_does_not_change_another_outcome() -> None:
    stream = Stream()
    stream.chunk(Text("One."))
    stream.stop("7")
    stream.delivery_lost()
    stream.flushed()
    assert stream.state == "stopped_by_user"
    assert stream.actions.lost


def test_a_result_before_the_outcome_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="still opening; wait for its outcome"):
        Stream().result()


def test_a_stream_that_overran_and_one_that_failed_outside() -> None:
    stream = Stream()
    stream.overran()
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
                 "<details>a", "```\na"):  # fmt: skip
        replay(Trace(StreamConfig(), (Moment(0, "chunk", chunk=Text(text)), Moment(0, "end"))))
    first_done = (Moment(0, "chunk", chunk=Done("stop")), Moment(0, "end"))
    replay(Trace(StreamConfig(), first_done))
    guarded = StreamConfig(speaker_names=("Bob",), send_message_limit=1)
    replay(Trace(guarded, (Moment(0, "chunk", chunk=Text("a\nBob: b")), Moment(0, "end"))))
    replay(Trace(guarded, (Moment(0, "chunk", chunk=Text("a\n\nb\n\nc")), Moment(0, "end"))))
    for what in ("stop", "delivery_lost"):
        stream = closing()
        getattr(stream, what)()
        stream.chunk(Text("late"))
    test_a_loss_in_closing_does_not_change_another_outcome()
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
    "the guard": (lambda stream: stream.chunk(Text("Hi.\nBob: I")), {"speaker_names": ["Bob"]},
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
    stream.chunk(Text(HALF))
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
    stream.chunk(Text("Yes.\nBob: no\ud83d"))
    assert stream.state == "closing"
    stream.flushed()
    assert dict(stream.result().suppressed) == {"speaker_guard": 9, "surrogate": 1}


def test_the_other_half_may_come_too_late_as_well() -> None:
    stream = Stream()
    stream.end()
    for half in ("\ud83d", "\ude00"):
        stream.chunk(Text(half))
    stream.flushed()
    assert dict(stream.result().suppressed) == {"late": 1}


def test_delivery_that_answers_too_early_decides_nothing() -> None:
    stream = Stream()
    stream.chunk(Text("Hi <th"))
    stream.flushed()
    stream.chunk(Text("ink>hm</think>"))
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
