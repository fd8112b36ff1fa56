"""Records on one side, pages on the other; and recorded streams, which are traces that replay to the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import DoneChunk, ErrorChunk, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.messages import Embed, Kind, Outcome, OutgoingMessage, Receipt
from minamo.core.stream import Stream
from minamo.core.trace import read_trace
from minamo.inspect import hub as hubs
from minamo.inspect import recorder as recording
from minamo.inspect import recorder as trace_writer
from minamo.inspect.explain import AuditSnapshot, fates
from minamo.inspect.feed import CHANNELS_MAX, MESSAGES_MAX, Author, ChannelMessage, Feed
from minamo.inspect.hub import Hub
from minamo.inspect.recorder import Recorder
from minamo.inspect.replay import replay
from minamo.machine import Machine, TransitionRecord
from minamo.shell.delivery.delivery import TABLE, DeliveryActions, Report
from minamo.shell.stops.registry import StopRequest
from minamo.testing.strategies import texts


def make(**settings) -> Hub:
    return Hub(clock=lambda: 50.0, **settings)


def nothing() -> None:
    pass


def test_it_costs_nothing_when_nobody_looks():
    hub, stream = make(), Stream()
    assert hub.open_stream(1, stream) is None
    assert stream.actions.outbox.watch is None
    assert stream.machine._observers == ()
    assert hub.join(nothing) is not None
    assert hub.open_stream(1, stream) is not None


def test_a_page_is_told_everything_and_then_what_is_new():
    hub = make(recording=True)
    recorder = hub.open_stream(1, Stream())
    woken: list[int] = []
    page = hub.join(lambda: woken.append(1))
    recorder.happened(50.5, "chunk", TextChunk("Hi"))
    assert woken == []  # what it is told first includes it
    (hello,) = page.take()
    assert hello["kind"] == "hello"
    assert [one["latest"][0]["text"] for one in hello["streams"]] == ["Hi"]
    assert page.take() == []
    recorder.happened(50.6, "chunk", TextChunk(" there"))
    assert woken == [1]
    assert [one["text"] for one in page.take()] == [" there"]
    hub.leave(page)
    recorder.happened(50.7, "chunk", TextChunk("!"))
    assert page.take() == []


def test_a_slow_page_begins_anew(monkeypatch):
    monkeypatch.setattr(hubs, "QUEUE_MAX", 10)
    hub = make(recording=True)
    page, quick = hub.join(nothing), hub.join(nothing)
    page.take(), quick.take()
    for n in range(25):
        hub.tell({"kind": "test", "n": n})
        if n % 5 == 0:
            assert [one["kind"] for one in quick.take()] == ["test"] * (5 if n else 1)
    (hello,) = page.take()
    assert (hello["kind"], hello["behind"]) == ("hello", 10)
    hub.tell({"kind": "test"})
    assert [one["kind"] for one in page.take()] == ["test"]


def test_only_the_last_streams_are_kept():
    hub = make(recording=True)
    for _ in range(hubs.STREAMS_MAX + 3):
        hub.open_stream(1, Stream())
    assert hub.dropped == 3
    assert hub.find("3") is None
    assert hub.find("4") is not None
    hello = hub.snapshot()
    assert len(hello["streams"]) == hubs.STREAMS_MAX
    assert hello["dropped"] == 3


def test_who_comes_later_finds_the_state_of_now():
    hub = make()
    machine = Machine(TABLE, DeliveryActions(True))
    machine.subscribe(hub.observer("delivery"))
    hub.join(nothing)
    machine.send("turn_came", Report())
    (page,) = hub._pages
    hub.leave(page)
    machine.send("answered", Report(message_id=5))
    lit = hub.snapshot()["lit"]
    assert [(one["chart"], one["target"]) for one in lit] == [
        ("delivery", "calling"),
        ("delivery", "delivered"),
    ]


def test_a_page_can_go_back_to_the_states_of_other_charts_and_when_they_were():
    now = [10.0]
    hub = Hub(clock=lambda: now[0])
    machine = Machine(TABLE, DeliveryActions(True))
    machine.subscribe(hub.observer("delivery", 9))
    machine.send("turn_came", Report())
    now[0] = 12.0
    machine.send("answered", Report(message_id=5))
    now[0] = 15.0
    assert [one["age"] for one in hub.snapshot()["lit"]] == [5.0, 3.0]
    seen = hub.observer("turn")
    taken: list[TransitionRecord] = []
    again = Machine(TABLE, DeliveryActions(True))
    again.subscribe(taken.append)
    again.send("turn_came", Report())
    for _ in range(hubs.LIT_MAX + 5):
        seen(taken[0])
    assert len(hub.snapshot()["lit"]) == 2 + hubs.LIT_MAX


def test_only_so_many_pages():
    hub = make()
    pages = [hub.join(nothing) for _ in range(hubs.PAGES_MAX)]
    assert hub.join(nothing) is None
    hub.leave(pages[0])
    assert hub.join(nothing) is not None


def test_other_charts_are_lit():
    hub = make()
    machine = Machine(TABLE, DeliveryActions(True))
    machine.subscribe(hub.observer("delivery", 9))
    machine.send("turn_came", Report())
    page = hub.join(nothing)
    page.take()
    machine.send("answered", Report(message_id=1))
    (told,) = page.take()
    assert (told["kind"], told["chart"], told["channel"]) == ("chart", "delivery", "9")
    assert (told["source"], told["target"]) == ("calling", "delivered")
    assert hub.snapshot()["lit"][-1]["target"] == "delivered"


# What stands in the channels.

ANN = Author(id="1", name="ann")


def test_a_feed_keeps_the_newest():
    told: list[dict] = []
    feed = Feed(told.append)
    for n in range(MESSAGES_MAX + 5):
        feed.put(ChannelMessage(id=str(n), channel="c", author=ANN, text=f"m{n}"))
    assert [one["id"] for one in feed.snapshot()][:1] == ["5"]
    assert len(told) == MESSAGES_MAX + 5
    feed.drop("c", "7")
    feed.drop("c", "7")
    assert [one["kind"] for one in told[-2:]] == ["message", "deleted"]
    for n in range(CHANNELS_MAX):
        feed.put(ChannelMessage(id="x", channel=f"other {n}", author=ANN))
    assert {one["channel"] for one in feed.snapshot()} == {
        f"other {n}" for n in range(CHANNELS_MAX)
    }


def post(text: str = "hello", embed: Embed | None = None) -> OutgoingMessage:
    return OutgoingMessage(channel_id=3, text=text, reply_to=8, embed=embed)


def receipt(outcome: Outcome = "delivered", kind: Kind = "create", number: int | None = 12):
    return Receipt(
        outcome=outcome, channel_id=3, index=0, characters=5, message_id=number, kind=kind
    )


def test_a_real_bot_feeds_what_it_sent():
    feed = Feed()
    feed.sent(post(), receipt(outcome="refused"))
    feed.sent(post(), receipt(number=None))
    assert feed.snapshot() == []
    feed.sent(
        post(embed=Embed(title="Sorry", description="It failed", colour=0xFF0000)),
        receipt(),
        at="2026-01-01T00:00:00Z",
    )
    feed.sent(post(text="hello again"), receipt(kind="edit"))
    (one,) = feed.snapshot()
    assert (one["text"], one["edited"], one["reply_to"]) == ("hello again", True, "8")
    assert one["at"] == "2026-01-01T00:00:00Z"
    feed.sent(post(), receipt(kind="delete"))
    assert feed.snapshot() == []


def test_the_gateway_feeds_everything():
    told: list[dict] = []
    feed = Feed(told.append)
    message = {
        "id": "5",
        "channel_id": "3",
        "content": "hi",
        "timestamp": "2026-01-01T00:00:00Z",
        "edited_timestamp": None,
        "author": {"id": "9", "username": "Mira"},
        "webhook_id": "9",
        "message_reference": {"message_id": "4"},
        "embeds": [
            {"title": "T", "fields": [{"name": "n", "value": "v"}], "footer": {"text": "f"}}
        ],
        "attachments": [{"filename": "a.txt", "size": 3, "url": "http://elsewhere.invalid/a"}],
        "components": [
            {
                "type": 1,
                "components": [{"type": 2, "custom_id": "stop", "label": "Stop", "style": 4}],
            }
        ],
    }
    feed.gateway("MESSAGE_CREATE", message)
    (one,) = feed.snapshot()
    assert one["author"] == {"id": "9/Mira", "name": "Mira", "app": True}
    assert one["buttons"] == [{"id": "stop", "label": "Stop", "style": 4, "disabled": False}]
    assert one["embeds"][0]["fields"] == [{"name": "n", "value": "v"}]
    assert one["files"] == [{"name": "a.txt", "size": 3}]  # no address: the page asks nobody else
    assert one["reply_to"] == "4"
    feed.gateway("MESSAGE_UPDATE", {**message, "content": "ho", "edited_timestamp": "x"})
    assert feed.snapshot()[0]["edited"] is True
    feed.gateway("TYPING_START", {"channel_id": "3", "user_id": "9"})
    assert told[-1]["author"]["name"] == "bot"
    feed.gateway("MESSAGE_DELETE", {"id": "5", "channel_id": "3"})
    feed.gateway("PRESENCE_UPDATE", {})
    assert [one["kind"] for one in told] == ["people", "message", "message", "typing", "deleted"]
    feed.gateway("MESSAGE_UPDATE", {"id": "5", "channel_id": "3", "embeds": []})  # a link unfolded
    assert feed.snapshot() == []
    assert feed.people == {"9": "Mira"}
    feed.gateway("MESSAGE_CREATE", {**message, "flags": 64})  # only one person sees it
    assert feed.snapshot() == []
    for number in ("6", "7"):
        feed.gateway("MESSAGE_CREATE", {**message, "id": number})
    feed.gateway("MESSAGE_DELETE_BULK", {"ids": ["6", "7"], "channel_id": "3"})
    assert feed.snapshot() == []


def test_channels_are_called_by_their_names():
    feed = Feed()
    assert feed.names_now() == {}
    feed.gateway(
        "GUILD_CREATE", {"id": "1", "name": "Home", "channels": [{"id": "2", "name": "lake"}]}
    )
    feed.gateway("CHANNEL_CREATE", {"id": "3", "name": "reeds"})
    assert feed.names_now() == {"2": "lake"}
    feed.put(ChannelMessage(id="9", channel="3", author=ANN))
    assert feed.names_now() == {"3": "reeds"}


def shown(index: int = 0, kind: Kind = "create") -> Receipt:
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
    told.happen("receipt", shown(index=0))
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
    told.happen("receipt", shown())
    told.happen("receipt", shown(index=1, kind="edit"))
    assert [one["call"] for one in told.recorder.receipts] == ["create", "edit"]
    assert [one["kind"] for one in told.events if "call" in one] == ["receipt", "receipt"]
