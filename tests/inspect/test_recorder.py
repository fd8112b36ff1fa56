"""A recorded stream is a trace that replays to the same, and happenings for whoever looks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import DoneChunk, ErrorChunk, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.messages import Kind, Receipt
from minamo.core.stream import Stream
from minamo.core.trace import read_trace
from minamo.inspect import recorder as recording
from minamo.inspect import recorder as trace_writer
from minamo.inspect.explain import AuditSnapshot, fates
from minamo.inspect.recorder import Recorder
from minamo.inspect.replay import replay
from minamo.shell.stops.registry import StopRequest
from minamo.testing.strategies import texts


def receipt(index: int = 0, kind: Kind = "create") -> Receipt:
    return Receipt(
        outcome="delivered",
        channel_id=5,
        index=index,
        characters=2,
        message_id=77,
        kind=kind,
        attempts=1,
        accepted_at=1.0,
        settled_at=1.25,
    )


class Told:
    """A recorder, a stream that hands over at once, and what was told."""

    def __init__(self, **settings):
        self.stream = Stream(StreamConfig(**{"humanize": False, **settings}))
        self.events: list[dict] = []
        self.recorder = Recorder("1", 5, self.stream, 100.0, self.events.append)
        self.messages: list[str] = []
        self.stream.actions.idle_lane = self.deliver
        self.now = 100.0

    def deliver(self):
        for message in self.stream.actions.outbox.take(1):
            self.messages.append(message.text)
            self.stream.arrived(len(self.messages) - 1)

    def happen(self, event, payload=None, after=0.1):
        self.now += after
        self.recorder.happened(self.now, event, payload)

    def chunk(self, content, after=0.1):
        self.happen("chunk", TextChunk(content), after)
        self.stream.chunk(TextChunk(content))

    def end(self):
        self.happen("end")
        self.stream.end()
        self.stream.flushed()
        self.happen("settled")

    def kinds(self):
        return [one["kind"] for one in self.events]


@given(texts(4), st.integers(3, 70), st.sampled_from(["end", "user", "follow_up", "kill"]))
def test_the_trace_replays_to_the_same(text, size, ending):
    told = Told()
    for at in range(0, min(len(text), 500), size):
        told.chunk(text[at : at + size], after=0.0)
    if ending == "end":
        told.end()
    else:
        told.happen(ending, StopRequest(requester="9"), after=0.0)
        {
            "user": lambda: told.stream.stop("9"),
            "follow_up": told.stream.follow_up,
            "kill": told.stream.kill,
        }[ending]()
        told.stream.flushed()
    again = replay(read_trace(told.recorder.trace().split("\n")))
    result = told.stream.result()
    assert list(again.messages) == told.messages
    assert again.result.status == result.status
    assert again.result.stop_reason == result.stop_reason
    assert again.result.suppressed == result.suppressed
    assert again.result.states == result.states


def test_what_is_told():
    told = Told()
    told.chunk("<think>hm</think>Hi")
    told.end()
    assert told.kinds() == ["event", "moves", "moves", "event", "moves", "moves", "ended"]
    assert told.events[0]["text"] == "<think>hm</think>Hi"
    assert told.events[0]["t"] == 0.1
    assert [one[:3] for one in told.events[1]["moves"]] == [["think_opened", "opening", "in_think"]]
    assert told.events[-1]["status"] == "completed"
    assert [one["n"] for one in told.events] == list(range(1, len(told.events) + 1))


def test_settings_that_differ_are_written():
    told = Told(degree=2, clean_off=["mention"], mentions={"ann": "4"}, overlap_removal=True)
    assert json.loads(told.recorder.trace()) == {
        "settings": {"clean_off": ["mention"], "degree": 2, "mentions": {"ann": "4"}}
    }


def test_the_lane_is_what_has_no_receipt():
    told = Told()
    told.stream.actions.idle_lane = None
    told.chunk("One.\n\nTwo.\n\nThree")
    told.happen("chunk", TextChunk(""))
    assert told.recorder.lane == {"held": 12, "waiting": 12}
    told.stream.actions.outbox.take(1)
    told.happen("chunk", TextChunk(""))
    assert told.recorder.lane == {"held": 10, "waiting": 6}
    told.happen("receipt", receipt(index=0))
    assert told.recorder.lane == {"held": 6, "waiting": 6}
    assert told.recorder.receipts[0]["message"] == "77"
    assert told.recorder.receipts[0]["took"] == 0.25


def test_a_full_lane_stops_the_clocks():
    told = Told()
    told.chunk("a")
    told.happen("full")
    assert told.recorder.summary()["paused_at"] == pytest.approx(0.2)
    told.happen("room", after=5)
    assert told.recorder.summary()["paused_at"] is None
    assert told.recorder.summary()["heard_at"] == pytest.approx(5.1)
    assert told.recorder.summary()["first_at"] == pytest.approx(0.1)


def test_it_remembers_only_so_much(monkeypatch):
    monkeypatch.setattr(trace_writer, "EVENTS_MAX", 10)
    monkeypatch.setattr(recording, "LATEST_MAX", 20)
    told = Told()
    for _ in range(60):
        told.chunk("word ")
    told.end()
    assert len(told.recorder.trace().splitlines()) == 11
    assert told.recorder.summary()["cut"] == 51
    assert len(told.recorder.latest) <= 20
    books = AuditSnapshot.of(told.recorder.tracks)
    assert len(books.text) == 50
    assert fates(books)[-1].end == 50


def test_other_words_and_chunks():
    told = Told()
    told.happen("silent", "inactivity")
    told.happen("chunk", ErrorChunk("rate_limit", "slow down"))
    told.happen("chunk", DoneChunk("stop"))
    told.happen("chunk", TextChunk("", ("a thought",)))
    assert [one.get("text") for one in told.events[:1]] == ["inactivity"]
    assert [(one["type"], one["text"]) for one in told.events if one.get("event") == "chunk"] == [
        ("error", "slow down"),
        ("done", "stop"),
        ("text", "a thought"),
    ]


def test_a_fault_of_the_recorder_does_not_reach_the_stream(caplog):
    told = Told()
    told.happen("receipt", object())
    told.happen("receipt", object())
    assert told.recorder.broken
    assert len(caplog.records) == 1
    told.chunk("Hi")
    told.end()
    assert told.messages == ["Hi"]


def test_the_end_is_told_once():
    told = Told()
    told.happen("settled")
    told.happen("cancelled")
    assert [one["kind"] for one in told.events].count("ended") == 1


def test_a_change_of_a_message_is_told_as_one():
    told = Told()
    told.happen("receipt", receipt())
    told.happen("receipt", receipt(index=1, kind="edit"))
    assert [one["call"] for one in told.recorder.receipts] == ["create", "edit"]
    assert [one["kind"] for one in told.events if "call" in one] == ["receipt", "receipt"]
