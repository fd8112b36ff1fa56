"""One answer from its first byte to its end, repeated tails, and the check that adapters are given."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minamo.core.chunks import Call, Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import TEXT_MAX
from minamo.core.trace import read_trace
from minamo.inspect.replay import replay
from minamo.shell.providers.retry import fallback
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import check_adapter, listen, run_with_virtual_clock
from minamo.wire.anthropic.reader import AnthropicReader
from minamo.wire.assembler import MINIMUM, WINDOW, BoundedText, OverlapRemoval, ReplyAssembler
from minamo.wire.conversation import assistant, tool_result, user
from minamo.wire.frames import Frame, ResponseDecoder
from minamo.wire.google.reader import GoogleReader
from minamo.wire.limits import REPLAY_CHARS_MAX, WireLimits
from minamo.wire.openai.reader import OpenAIReader
from minamo.wire.responses.reader import ResponsesReader
from minamo.wire.sse import Decoder, SseEvent
from support.recordings import NAMES, adapter, done, gathered, read, recording, replayed

FRAME = b'data: {"choices":[{"delta":{"content":"Hi"}%s}]}\n\n'


@pytest.mark.parametrize("what", ["line", "frame", "stream", "frames"])
def test_p23_a_broken_limit_is_one_error_after_the_text(what: str) -> None:
    limits = {
        "line": WireLimits(line_bytes_max=60),
        "frame": WireLimits(frame_bytes_max=90),
        "stream": WireLimits(stream_bytes_max=80),
        "frames": WireLimits(frames_max=1),
    }[what]
    data = FRAME % b"" + FRAME % b',"a":"0123456789"' + FRAME % b""
    said = read("openai", data, limits=limits)

    assert said.text == "Hi"
    assert said.last == ErrorChunk("api_error", f"the stream broke a limit: {what} too long")


def test_hanging_up_after_a_complete_reply_is_no_failure() -> None:
    lost = ErrorChunk("timeout", "the provider fell silent", retryable=True)
    for finish, last in ((b',"finish_reason":"stop"', done("stop")), (b"", lost)):
        llm = adapter("openai")
        decoder = llm.decoder()
        frames = [*decoder.feed(FRAME % finish), *decoder.feed(lost), *decoder.end()]
        said = gathered(chunk for frame in frames for chunk in llm.process_chunk(frame))

        assert (said.text, said.last) == ("Hi", last)
        assert decoder.ended
        # The short way of the built-in adapters, without frames.
        response = llm._response()
        assert not response.decoder.is_heavy(lost)
        assert gathered([*response.read(FRAME % finish), *response.read(lost)]) == said


def test_frames_are_stamped_and_show_nothing() -> None:
    llm = adapter("openai")
    (frame,) = llm.decoder().feed(FRAME % b"")

    assert repr(frame) == "Frame(SseEvent, provider='openai')"
    assert frame.metadata["model"] == "m"
    assert frame.metadata["timestamp"] > 1_700_000_000_000


def test_a_call_without_text_before_it() -> None:
    call = Call("now")
    request = adapter("anthropic").chat(
        [user("a"), assistant(calls=[call]), tool_result(call, "b")]
    )

    assert b'"tool_use"' in request.request.body


class Lines:
    """An adapter of somebody's own: each line is a text."""

    def __init__(self, chunks: Any = None, cut_matters: bool = False) -> None:
        self.chunks = chunks
        self.cut_matters = cut_matters

    def decoder(self) -> Lines:
        return self

    def feed(self, data: bytes) -> Iterable[Frame]:
        return [Frame(data)] if self.cut_matters else []

    def end(self) -> Iterable[Frame]:
        return [Frame(None)]

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        if frame.data is not None:
            return [TextChunk(frame.data.decode("latin-1"))]
        if isinstance(self.chunks, Exception):
            raise self.chunks
        return list(self.chunks)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "must end in DoneChunk or ErrorChunk, not in nothing"),
        ([TextChunk("a")], "must end in DoneChunk or ErrorChunk, not in Text"),
        ([ErrorChunk("timeout"), DoneChunk()], "chunk 0 is an error, but Done"),
        ([FunctionCall((Call("a"),)), TextChunk("b"), DoneChunk()], "chunk 1 is text after"),
        (
            [FunctionCall((Call("a"),)), FunctionCall((Call("a"),)), DoneChunk()],
            "chunk 1 is a second",
        ),
        (
            [FunctionCall(()), DoneChunk()],
            "chunk 0 breaks the contract of chunks: .*there are no calls",
        ),
        ([FunctionCall((Call(""),)), DoneChunk()], "a call needs a name"),
        ([FunctionCall((Call("a", "{"),)), DoneChunk()], "arguments must be a mapping of names"),  # type: ignore[arg-type]
        (
            [TextChunk("a"), ErrorChunk("overloaded", "x", True, "30")],
            "chunk 1 .*kind must be one of api_error",
        ),  # type: ignore[arg-type]
        ([ErrorChunk("rate_limit", "x", True, "30")], "retry_after must be seconds.*and is '30'"),  # type: ignore[arg-type]
        ([TextChunk(None), DoneChunk()], "chunk 0 .*content must be text, and is a NoneType"),  # type: ignore[arg-type]
        ([None, DoneChunk()], "this gave None"),
        (ValueError("oh"), "whole, at the end: ValueError: oh"),
    ],
)
def test_check_adapter_finds_broken_laws(chunks: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_adapter(Lines(chunks), b"abc")


def test_check_adapter_finds_chunks_that_depend_on_the_cut() -> None:
    with pytest.raises(AssertionError, match=r"byte by byte: chunk 0 is TextChunk\(content=<1"):
        check_adapter(Lines([DoneChunk()], cut_matters=True), b"abc")
    with pytest.raises(AssertionError, match="byte by byte: 4 chunks, but 2 when read whole"):
        check_adapter(Counting(), b"abc")


class Counting(Lines):
    """Says the same in every chunk, and too many of them."""

    def __init__(self) -> None:
        super().__init__([DoneChunk()], cut_matters=True)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        return [DoneChunk()]


def test_check_adapter_returns_the_chunks() -> None:
    assert check_adapter(Lines([TextChunk("a"), DoneChunk()]), b"abc") == [
        TextChunk("a"),
        DoneChunk(),
    ]
    assert check_adapter(adapter("openai"), recording("openai-text"))[-1].type == "done"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.no_cover  # measuring would be most of its time
def test_chunks_straight_from_the_bytes_are_those_of_the_frames(name: str) -> None:
    llm = adapter(name)
    response = llm._response()
    chunks = [*response.read(recording(name)), *response.read(None)]
    assert gathered(chunks) == replayed(name)
    lost = ErrorChunk("timeout", "gone")
    assert gathered(llm._response().read(lost)).last == lost


@pytest.mark.parametrize("length", [500, 501, 5_000])
def test_a_long_text_is_split(length: int) -> None:
    text = "a" * length
    plain, overlap = adapter("openai"), adapter("google", overlap_removal=True)
    for llm, data in (
        (plain, {"choices": [{"delta": {"content": text}}]}),
        (overlap, {"candidates": [{"content": {"parts": [{"text": text}]}}]}),
    ):
        chunks = llm._response().read(b"data: " + msgspec.json.encode(data) + b"\n\n")
        assert "".join(chunk.content for chunk in chunks) == text
        assert max(len(chunk.content) for chunk in chunks) == TEXT_MAX


def sized(kind: str, *, named: bool = True, **told: Any) -> bytes:
    """An event of five thousand bytes."""
    name = b"event: %b\n" % kind.encode() if named else b""
    data = msgspec.json.encode({"type": kind, **told, "padding": "x" * 5_000})
    return name + b"data: " + data + b"\n\n"


FETCHED = {"content_block": {"type": "web_fetch_tool_result", "tool_use_id": "t"}, "index": 0}


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        ("anthropic", sized("content_block_start", **FETCHED)),
        ("anthropic", sized("content_block_start", named=False, **FETCHED)),
        ("anthropic", sized("ping")),
        ("anthropic", sized("brand_new", named=False)),
        ("responses", sized("response.image_generation_call.partial_image")),
        ("responses", sized("response.output_text.done", named=False)),
        ("responses", sized("response.brand_new")),
        ("responses", sized("keepalive")),
    ],
)
def test_an_oversize_event_that_is_not_read_is_skipped(dialect: str, event: bytes) -> None:
    text = recording(f"{dialect}-text")
    first = text.index(b"\n\n") + 2
    limits = WireLimits(line_bytes_max=4_000)
    said = read(dialect, text[:first] + event + text[first:], limits=limits)

    assert said.text == "Hello there."
    assert isinstance(said.last, DoneChunk)
    assert said.last.skipped == 1


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        ("anthropic", sized("content_block_delta")),
        ("anthropic", sized("content_block_start", content_block={"type": "text"})),
        ("anthropic", sized("", named=False)),
        ("anthropic", sized("message_stop", named=False)),
        ("responses", sized("response.output_text.delta")),
        ("responses", sized("response.completed", named=False)),
        ("responses", sized("", named=False)),
        ("openai", sized("brand_new")),
        ("google", sized("brand_new")),
    ],
)
def test_an_oversize_event_that_may_be_missed_is_an_error(dialect: str, event: bytes) -> None:
    text = recording(f"{dialect}-text")
    said = read(dialect, event + text, limits=WireLimits(line_bytes_max=4_000))

    assert said.last == ErrorChunk("api_error", "the stream broke a limit: line too long")


READERS = {
    "openai": OpenAIReader,
    "responses": ResponsesReader,
    "anthropic": AnthropicReader,
    "google": GoogleReader,
}


@pytest.mark.parametrize("dialect", READERS)
def test_the_short_way_of_text_frames_gives_what_the_long_one_gives(dialect: str) -> None:
    """Frames of all recordings of a dialect, in any order, with comments between them."""
    names = [name for name in NAMES if name.startswith(dialect)]
    items = [item for name in names for item in Decoder().feed(recording(name))]
    events = [item for item in items if isinstance(item, SseEvent)]
    pool = [
        b"event: %b\ndata: %b\n\n" % (event.name, event.data)
        if event.name
        else b"data: %b\n\n" % event.data
        for event in events
    ]
    taken = 0
    for seed in range(300):
        rng = random.Random(seed)
        # A text frame is usually followed by others like it.
        some = [event for event in rng.choices(pool, k=6) for _ in range(rng.choice([1, 1, 3, 99]))]
        data = b"".join(some) + rng.choice([b"", b"", b": still here\n\n"])
        short, long = (
            ResponseDecoder(READERS[dialect](ReplyAssembler(WireLimits())), WireLimits())
            for _ in range(2)
        )
        chunks = short.read(data)
        assert chunks == [c for item in Decoder().feed(data) for c in long.take(item)]
        assert short.read(None) == long.read(None)
        taken += len(chunks)
    assert taken > 1_000


@pytest.mark.parametrize("dialect", READERS)
@pytest.mark.parametrize("found", [None, [], {}, "text", [{"text": "Hi"}], {"error": {}}])
def test_what_is_no_whole_reply_has_no_events(dialect: str, found: Any) -> None:
    assert READERS[dialect](ReplyAssembler(WireLimits())).whole(found) == []


@given(
    st.lists(st.text("a\u3042\ud83d\ude00", max_size=3)),
    st.sampled_from(["a", "a\ud83d"]),
    st.booleans(),
)
@example(["a", "b"], "a\ud83d", False)
def test_texts_together_give_what_each_by_itself_gives(
    texts: list[str], before: str, overlap: bool
) -> None:
    texts += ["b" * 501] * (len(texts) % 2)
    both = [ReplyAssembler(WireLimits(), overlap_removal=overlap) for _ in range(2)]
    assert both[0].say(before) == both[1].say(before)
    said = both[0].say_all([text for text in texts if text])
    assert said == [chunk for text in texts if text for chunk in both[1].say(text)]
    assert both[0].chars == both[1].chars
    assert both[0].refuse(ErrorChunk("timeout", "")) == both[1].refuse(ErrorChunk("timeout", ""))


def removed(*pieces: str) -> str:
    overlap = OverlapRemoval()
    return "".join(overlap.add(piece) for piece in pieces)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["It was a dark night", "dark night and cold"], "It was a dark night and cold"),
        (["It was dark", "dark and cold"], "It was darkdark and cold"),  # four are too few
        (["12345678", "12345678"], "12345678"),
        (["1234567", "1234567"], "12345671234567"),
        (["aaaaaaaaaa", "aaaaaaaaab"], "aaaaaaaaaab"),
        (["abc", "", "def"], "abcdef"),
        (["x" * 5_000, "x" * 5_000], "x" * 5_904),  # the window, no more
    ],
)
def test_the_longest_overlap_goes(pieces: list[str], text: str) -> None:
    assert removed(*pieces) == text


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_trying_every_length_agrees(tail: str, piece: str) -> None:
    lengths = range(min(len(tail), len(piece)), MINIMUM - 1, -1)
    size = next((n for n in lengths if tail.endswith(piece[:n])), 0)

    assert removed(tail, piece) == tail + piece[size:]
    assert WINDOW == 4_096


def test_it_is_off_by_default() -> None:
    part = '{"candidates":[{"content":{"parts":[{"text":"%s"}]}%s}]}'
    stop = ',"finishReason":"STOP"'
    data = f"data: {part % ('a dark night', '')}\n\ndata: {part % ('dark night and', stop)}\n\n"

    texts = [
        gathered(check_adapter(adapter("google", overlap_removal=on), data.encode())).text
        for on in (False, True)
    ]
    assert texts == ["a dark nightdark night and", "a dark night and"]


PIECES = ["Hello wonderful world", "wonderful world again, ok", "again, ok", "again, ok"]


def test_the_switch_of_a_stream_does_in_life_what_it_does_in_a_replay() -> None:
    config = StreamConfig(overlap_removal=True, degree=0, humanize=False)
    trace = "\n".join([
        json.dumps({"settings": {"overlap_removal": True, "degree": 0}}),
        *(json.dumps({"chunk": {"type": "text", "content": piece}}) for piece in PIECES),
        json.dumps({"end": True}),
    ])  # fmt: skip
    replayed = replay(read_trace(trace.split("\n")))

    async def plain() -> AsyncIterator[str]:
        for piece in PIECES:
            yield piece

    for source in (ScriptedProvider(PIECES), plain(), fallback(ScriptedProvider(PIECES))):
        heard = run_with_virtual_clock(lambda source=source: listen(source, config))  # type: ignore[misc]
        assert heard.messages == list(replayed.messages) == ["Hello wonderful world again, ok"]
        assert heard.result.suppressed == replayed.result.suppressed
    lost = sum(map(len, PIECES)) - len("Hello wonderful world again, ok")
    assert replayed.result.suppressed == {"overlap": lost}


class Conversation:
    """A recorded answer, read by an adapter as it would be over a connection."""

    def __init__(self, llm: Any, data: bytes) -> None:
        self.llm = llm
        self.data = data

    async def __aiter__(self) -> AsyncIterator[Any]:
        decoder = self.llm.decoder()
        for frame in [*decoder.feed(self.data), *decoder.end()]:
            for chunk in self.llm.process_chunk(frame):
                yield chunk


@pytest.mark.parametrize("of_adapter", [False, True])
@pytest.mark.parametrize("of_stream", [False, True])
def test_it_is_removed_once_whoever_removes_it(of_adapter: bool, of_stream: bool) -> None:
    """The second look would take the genuine repeat behind an overlap for another one."""
    part = '{"candidates":[{"content":{"parts":[{"text":"%s"}]}%s}]}'
    said = ["a dark night", "dark nightdark nightdark night"]
    stop = ',"finishReason":"STOP"'
    data = f"data: {part % (said[0], '')}\n\ndata: {part % (said[1], stop)}\n\n".encode()
    llm = adapter("google", overlap_removal=of_adapter)
    config = StreamConfig(overlap_removal=of_stream, degree=0)
    heard = run_with_virtual_clock(lambda: listen(Conversation(llm, data), config))

    removed = 10 if of_adapter or of_stream else 0
    assert heard.messages == [said[0] + said[1][removed:]]
    assert heard.result.suppressed == ({"overlap": removed} if removed else {})


def test_text_for_the_next_request_is_kept_up_to_its_limit_or_not_at_all() -> None:
    kept = BoundedText()
    assert kept.add("a" * (REPLAY_CHARS_MAX - 1))
    assert kept.add("b")
    assert kept.text() == "a" * (REPLAY_CHARS_MAX - 1) + "b"
    assert not kept.add("c")
    assert kept.text() == ""
