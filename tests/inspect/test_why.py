"""Every character has a fate, and the fates are the truth of the core's own books."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from minamo.core.trace import Moment, Trace, read_trace
from minamo.inspect.explain import HIDDEN, AuditSnapshot, CharacterFate, fates, messages
from minamo.inspect.replay import MOVES_MAX, replay, step_through
from minamo.inspect.tracks import Tracks
from minamo.inspect.views import look_at, look_at_lines
from minamo.testing.strategies import markdown_texts, texts
from support.audit import run, shown


def look(
    chunks: list[str], ending: str = "end", **settings: object
) -> tuple[AuditSnapshot, list[CharacterFate]]:
    config = StreamConfig(**{"humanize": False, **settings})  # type: ignore[arg-type]
    moments = [Moment(0.0, "chunk", chunk=TextChunk(chunk)) for chunk in chunks]
    if ending:
        moments.append(Moment(0.0, ending))
    _, _, tracks = step_through(Trace(config, tuple(moments)))
    books = AuditSnapshot.of(tracks)
    return books, fates(books)


def fate_of(text: str, found: str, **settings: object) -> CharacterFate:
    """The fate of the first character of *found*."""
    at = text.index(found)
    return next(one for one in look([text], **settings)[1] if one.start <= at < one.end)


ENDINGS = st.sampled_from(["end", "stop", "follow_up", "kill", ""])


@given(st.one_of(texts(), markdown_texts(4)), ENDINGS, st.integers(0, 3), st.integers(1, 60))
def test_every_character_has_exactly_one_fate(text, ending, degree, size):
    chunks = [text[at : at + size] for at in range(0, min(len(text), 600), size)]
    books, found = look(chunks, ending, degree=degree)
    assert [one.start for one in found] == [0, *(one.end for one in found)][: len(found)]
    assert (found[-1].end if found else 0) == len(books.text)
    assert not [one for one in found if one.place.kind in ("held", "unlisted")]


@given(st.one_of(texts(), markdown_texts(4)), ENDINGS, st.integers(0, 3))
def test_a_fate_leads_to_the_very_character(text, ending, degree):
    text = text[:900]
    books, found = look([text], ending, degree=degree)
    said = run([text], ending=ending, degree=degree)
    blocks = {"thought": [], "details": []}
    for block in books.blocks:
        blocks["thought" if block.kind == "think" else "details"].append(block.text)
    for one in found:
        part, place = books.text[one.start : one.end], one.place
        if place.kind == "message":
            assert said.messages[place.index][place.offset :].startswith(part)
        elif place.kind in blocks:
            assert blocks[place.kind][place.index][place.offset :].startswith(part)
        else:
            assert place.kind == "suppressed"
            assert place.reason in said.result.suppressed
    visible = [n for one in found if one.place.kind == "message" for n in range(one.start, one.end)]
    assert visible == [position for position, _ in shown(said)]


@given(st.one_of(texts(), markdown_texts(4)))
def test_each_message_is_covered_by_its_runs(text):
    books, _ = look([text[:900]])
    said = [m.text for b in books.batches for m in b.fitted.messages[: b.sent]]
    for message, runs in zip(said, messages(books.batches), strict=True):
        assert [one.offset for one in runs] == [0, *(one.offset + one.size for one in runs)][:-1]
        assert runs[-1].offset + runs[-1].size == len(message)
        assert all(one.reason for one in runs if one.start < 0)


def test_the_chunk_and_the_state():
    books, found = look(["<think>se", "cret</think>He", "llo"])
    told = [
        (books.text[f.start : f.end], f.chunk, f.state, f.place.kind, f.place.reason) for f in found
    ]
    assert told == [
        ("<think>", 0, "opening", "suppressed", "marker"),
        ("se", 0, "in_think", "thought", ""),
        ("cret", 1, "in_think", "thought", ""),
        ("</think>", 1, "in_think", "suppressed", "marker"),
        ("He", 1, "streaming", "message", ""),
        ("llo", 2, "streaming", "message", ""),
    ]


@pytest.mark.parametrize(
    ("text", "found", "settings", "reason"),
    [
        ("a<think>b</think>", "<think>", {}, "marker"),
        ("a <details><summary>title</summary>b</details>", "title", {}, "summary"),
        ("one\n\n\n\ntwo", "\n", {}, "seam"),
        ("zero\u200bwidth", "\u200b", {}, "clean.invisible"),
        ("Ann: hi\nBob: no", "Bob", {"speaker_names": ["Bob"]}, "speaker_guard"),
        ("hello there", "hello", {"ending": "kill"}, "killed"),
        ("hello there", "hello", {"ending": "follow_up"}, "follow_up"),
        ("para one\n\npara two", "para two", {"send_message_limit": 1}, "limit"),
        ("| a |\n|---|\n| b |", "|---", {}, "clean.table"),
    ],
)
def test_hidden_characters_name_their_rule(text, found, settings, reason):
    fate = fate_of(text, found, **settings)
    assert (fate.place.kind, fate.place.reason) == ("suppressed", reason)
    assert HIDDEN[reason]


def test_nothing_is_shown_on_purpose():
    fate = fate_of("quiet", "quiet", suppress_text_output=True)
    assert (fate.place.kind, fate.place.reason) == ("kept", "suppress_text_output")


def test_while_it_runs_the_rest_is_held():
    stream = Stream(StreamConfig())
    tracks = Tracks.of(stream)
    for content in ("A paragraph.\n\nAnd the begin", "ning of <th"):
        tracks.heard(TextChunk(content))
        stream.chunk(TextChunk(content))
    stream.actions.outbox.take()
    found = [(f.place.kind, f.state) for f in fates(AuditSnapshot.of(tracks))]
    assert found[0] == ("message", "opening")  # the first text is what opens
    assert found[-2:] == [("held", "streaming"), ("held", "")]


def test_a_half_character_is_counted_as_the_stream_counts_it():
    books, found = look(["a\ud83d", "\ude42b\ud83d"])
    assert books.text == "a🙂b\ufffd"
    assert [(f.start, f.end, f.chunk) for f in found] == [(0, 1, 0), (1, 4, 1)]


def test_a_message_that_was_lost_is_not_shown():
    stream = Stream(StreamConfig())
    tracks = Tracks.of(stream)
    tracks.heard(TextChunk("gone\n\n"))
    stream.chunk(TextChunk("gone\n\n"))
    stream.end()
    assert [one.text for one in stream.actions.outbox.take()] == ["gone"]
    stream.missed(0, "undelivered")
    stream.delivery_lost()
    stream.flushed()
    places = [one.place for one in fates(AuditSnapshot.of(tracks))]
    assert ("suppressed", "undelivered") in [(one.kind, one.reason) for one in places]
    assert not [one for one in places if one.kind == "message"]


def test_a_message_that_came_back_is_followed_to_where_it_went_then():
    stream = Stream(StreamConfig(degree=2))
    tracks = Tracks.of(stream)
    for content in ("one\n", "two\n", "three\n"):
        tracks.heard(TextChunk(content))
        stream.chunk(TextChunk(content))
    outbox = stream.actions.outbox
    assert [one.text for one in outbox.take(1)] == ["one"]
    assert outbox.take_rest()
    outbox.put_rest_back()
    said = [one.text for one in outbox.take()]
    books = AuditSnapshot.of(tracks)
    assert len(messages(books.batches)) == 1 + len(said)
    shown = [
        (f.place.index, books.text[f.start : f.end])
        for f in fates(books)
        if f.place.kind == "message"
    ]
    assert shown[0] == (0, "one")
    assert all(text in said[index - 1] for index, text in shown[1:])


def trace_of(chunks, ending="end"):
    moments = [Moment(n * 0.1, "chunk", chunk=TextChunk(chunk)) for n, chunk in enumerate(chunks)]
    if ending:
        moments.append(Moment(len(chunks) * 0.1, ending))
    return Trace(StreamConfig(humanize=False), tuple(moments))


@given(texts(4), st.integers(5, 80), st.data())
def test_step_k_is_a_replay_of_the_first_k_events(text, size, data):
    chunks = [text[at : at + size] for at in range(0, min(len(text), 400), size)]
    trace = trace_of(chunks)
    _, steps, _ = step_through(trace)
    k = data.draw(st.integers(0, len(trace.moments)))
    _, some, _ = step_through(Trace(trace.config, trace.moments[:k]))
    assert some[: k + 1] == steps[: k + 1]


@given(texts(4), st.integers(5, 80))
def test_looking_changes_nothing(text, size):
    trace = trace_of([text[at : at + size] for at in range(0, min(len(text), 400), size)])
    assert step_through(trace)[0].summary() == replay(trace).summary()


def test_what_a_step_shows():
    _, steps, _ = step_through(trace_of(["<th", "ink>a thought</think>One.\n\nTw", "o"]))
    told = [
        (s.event, s.state, s.read, s.messages, s.thoughts, s.buffered, s.undecided) for s in steps
    ]
    assert told == [
        ("begin", "opening", 0, 0, 0, 0, 0),
        ("chunk", "opening", 3, 0, 0, 0, 3),
        ("chunk", "streaming", 32, 1, 1, 2, 0),
        ("chunk", "streaming", 33, 1, 1, 3, 0),
        ("end", "completed", 33, 2, 1, 0, 0),
    ]
    assert [(m.event, m.target) for m in steps[2].moves] == [
        ("think_opened", "in_think"),
        ("think_closed", "streaming"),
        ("", "handing"),
        ("", "streaming"),
    ]


def test_a_clock_that_runs_out_is_a_step():
    lines = ['{"settings": {"inactivity_timeout_ms": 500}}', '{"chunk": {"type": "text"}}']
    _, steps, _ = step_through(read_trace(lines))
    assert [(s.at, s.event, s.state) for s in steps[1:]] == [
        (0.0, "chunk", "streaming"),
        (0.5, "silent", "timeout"),
    ]


def test_a_step_tells_only_so_many_moves():
    _, steps, _ = step_through(trace_of(["<think>a</think>b" * 100]))
    assert len(steps[1].moves) == MOVES_MAX
    assert steps[1].more > 0


def test_five_thousand_events_are_linear(figure):
    def took(count: int) -> float:
        chunks = [f"Word {n}. <think>hm</think>\n\n" for n in range(count)]
        gc.collect()
        gc.freeze()  # the collector would look at the objects of all earlier tests, again and again
        began = time.process_time()
        look = look_at(trace_of(chunks))
        seconds = time.process_time() - began
        gc.unfreeze()
        assert len(look["steps"]) == count + 2
        return seconds

    took(200)
    few, many = took(1_000), took(5_000)
    figure(f"page: 5,000 events worked out in {many:.2f} s, 1,000 in {few:.2f} s")
    assert many < 12 * few  # five times as many; a quadratic would be 25


def test_everything_about_a_trace():
    look = look_at_lines(
        ['{"chunk": {"type": "text", "content": "Hi <think>x</think>"}}', '{"end": true}']
    )
    assert look["summary"]["status"] == "completed"
    assert look["text"] == "Hi <think>x</think>"
    assert look["messages"] == [{"text": "Hi", "runs": [[0, 2, 0, ""]]}]
    assert look["blocks"] == [{"kind": "thought", "text": "x"}]
    assert look["said"] == ["Hi <think>x</think>", ""]
