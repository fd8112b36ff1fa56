"""Server-sent events by the WHATWG rules, and fact 17: what is on the wire."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minamo.errors import BadRequest
from minamo.testing import check_adapter
from minamo.wire.limits import WireLimits
from minamo.wire.sse import Comment, Decoder, Item, Oversize, SseEvent, TooLong
from support.recordings import NAMES, adapter, read, recording, replayed

SMALL = WireLimits(line_bytes_max=8, frame_bytes_max=100, stream_bytes_max=96, frames_max=3)


def whole(
    data: bytes, limits: WireLimits | None = None, files: re.Pattern[bytes] | None = None
) -> list[Item]:
    return Decoder(limits, files).feed(data)


def bytewise(
    data: bytes, limits: WireLimits | None = None, files: re.Pattern[bytes] | None = None
) -> list[Item]:
    decoder = Decoder(limits, files)
    return [found for i in range(len(data)) for found in decoder.feed(data[i : i + 1])]


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [SseEvent(b"a")]),
        (b"data:a\n\n", [SseEvent(b"a")]),
        (b"data:  a\n\n", [SseEvent(b" a")]),
        (b"data: a\ndata: b\n\n", [SseEvent(b"a\nb")]),
        (b"data: a\n", []),
        (b"data: a", []),
        (b"data\n\n", [SseEvent(b"")]),
        (b"data\ndata\n\n", [SseEvent(b"\n")]),
        (b"data:\n\n", [SseEvent(b"")]),
        (b"data: a\r\n\r\n", [SseEvent(b"a")]),
        (b"data: a\r\r", [SseEvent(b"a")]),
        (b"data: a\n\rdata: b\r\n\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"data: a\r\n\rdata: b\n\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent(b"a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"\xef\xbbdata: a\n\n", []),
        (b"\xef\xbb", []),
        (b": comment\n\n", [Comment()]),
        (b":\n\n", [Comment()]),
        (b"event: x\n\ndata: a\n\n", [SseEvent(b"a")]),
        (b"event: x\ndata: a\n\n", [SseEvent(b"a", b"x")]),
        (b"event:x\ndata: a\n\ndata: b\n\n", [SseEvent(b"a", b"x"), SseEvent(b"b")]),
        (b"event: x\nevent\ndata: a\n\n", [SseEvent(b"a")]),
        (b"event: x\nfoo\n\ndata: a\n\n", [SseEvent(b"a")]),
        (b"event: x\nfoo\n\n", []),
        (
            b"event: x\ndata: a\n\nevent: y\ndata: b\n\n",
            [SseEvent(b"a", b"x"), SseEvent(b"b", b"y")],
        ),
        (b"event: x\ndata: a\ndata: b\n\nevent: y\n\n", [SseEvent(b"a\nb", b"x")]),
        (b"event: x\ndata: a\n\nevent: x\nid: b\n\n", [SseEvent(b"a", b"x")]),
        (b"id: 1\nretry: 5\nfoo\nfoo: bar\n data: no\nDATA: no\ndata: a\n\n", [SseEvent(b"a")]),
        (b"data: a\x00\xff\xe2\x80\xa8\xc2\x85\n\n", [SseEvent(b"a\x00\xff\xe2\x80\xa8\xc2\x85")]),
        (b"\n\n\n\n", []),
        (b"", []),
    ],
)
def test_the_rules(data: bytes, events: list[Item]) -> None:
    assert whole(data) == events
    assert bytewise(data) == events


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b":2345678\n" * 2, ""),
        (b":2345678\n" * 3, "frame"),
        (b":2345678\n" * 2 + b"\n", "frame"),
        (b"\n" * 3, ""),
        (b"\n" * 4, "frame"),
        (b":2345678\n:2345678\n:2345678\ndata: 1", "frame"),
        (b"data:a\n\n" * 3, ""),
        (b"data:a\n\n" * 4, "frames"),
        (b": x\n" + b"data:a\n\n" * 4, "frames"),
        (b"data:aa\n\n" * 3 + b":23456\n" * 4, "frame"),
        (b"data: a\n" * 5, "frame"),
    ],
)
def test_p23_every_length_is_bounded(data: bytes, what: str) -> None:
    found = whole(data, SMALL)

    assert found == bytewise(data, SMALL)
    assert [f.limit for f in found if isinstance(f, TooLong)] == ([what] if what else [])


LONG = Oversize(b" 12", b"")


@pytest.mark.parametrize(
    ("data", "items"),
    [
        (b"data: 123", [LONG]),
        (b"data: 1234567890", [LONG]),
        (b"data: 123\n\ndata:a\n\n", [LONG, SseEvent(b"a")]),
        (b"event:x\ndata: 123\r\n\r\ndata:a\n\n", [Oversize(b" 12", b"x"), SseEvent(b"a")]),
        (b"data: 12345\ndata:b\n\ndata:a\n\n", [LONG, SseEvent(b"a")]),
        (b"data:b\ndata: 12345\n\ndata:a\n\n", [LONG, SseEvent(b"a")]),
        (b": 12345678\ndata:a\n\n", [Comment(), SseEvent(b"a")]),
        (b"id: 12345678\ndata:a\n\n", [SseEvent(b"a")]),
        (b"event: 12345678\ndata:a\n\n", [SseEvent(b"a")]),
        (b"retry: 12345678\ndata:a\n\n", [SseEvent(b"a")]),
        (b"12345678\n" + b"123456789\ndata:a\n\n", [TooLong("line")]),
        (b"data: 123\n\n" * 4, [LONG, LONG, LONG, LONG, TooLong("frames")]),
    ],
)
def test_an_oversize_line_is_discarded_with_its_event(data: bytes, items: list[Item]) -> None:
    assert whole(data, SMALL) == items
    assert bytewise(data, SMALL) == items


def test_an_oversize_line_takes_no_memory() -> None:
    decoder = Decoder(WireLimits(line_bytes_max=1_000, stream_bytes_max=10**9))
    decoder.feed(b"data: " + b"x" * 1_000)
    for _ in range(1_000):
        assert decoder.feed(b"x" * 10_000) == []
        assert len(decoder._partial) == 0
    assert decoder.feed(b"\n\ndata: a\n\n") == [SseEvent(b"a")]


# A line may have 80 bytes, so the content of a file begins within the first 40.
FILES = WireLimits(line_bytes_max=80, frame_bytes_max=1_000)
BEGINS = re.compile(rb'"(?:file|url)"\s*:\s*"(?:data:a/b;base64,)?\Z')
LONGER = b"iVBORw0K" * 12


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b'{"file" : "%s", "text": "a"}', b'{"file" : "*", "text": "a"}'),
        (b'{"url":"data:a/b;base64,%s"}', b'{"url":"data:a/b;base64,*"}'),
        (b'["file":"%s","file":"%s"]', b'["file":"*","file":"*"]'),
        # The line ends inside of the file, so it is no JSON.
        (b'{"file":"%s', b'{"file":"*'),
        # Text is never cut out, nor what follows too much else, nor what is too long without it.
        (b'{"text":"%s"}', None),
        (b'{"text":"data:a/b;base64,%s"}', None),
        (b'{"text":"\\"file\\":\\"%s"}', None),
        (b'{"arguments":"12345678901234567890","file":"%s"}', None),
        (b'{"file":"%s","text":"%s"}', None),
    ],
)
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_a_file_that_is_too_long_is_cut_out_of_its_line(
    line: bytes, data: bytes | None, end: bytes
) -> None:
    stream = b"data: " + line.replace(b"%s", LONGER) + end + b"data: a" + end
    found = whole(stream, FILES, BEGINS)

    assert found == bytewise(stream, FILES, BEGINS)
    assert found[-1] == SseEvent(b"a")
    if data is None:
        assert isinstance(found[0], Oversize)
    else:
        assert found == [SseEvent(data), SseEvent(b"a")]
    # A comment has no files, and a dialect without files none in its data.
    assert whole(b":" + line.replace(b"%s", LONGER) + end, FILES, BEGINS) == [Comment()]
    assert isinstance(whole(stream, FILES)[0], Oversize)


def test_the_frame_may_be_too_long_before_the_line_is() -> None:
    limits = WireLimits(line_bytes_max=80, frame_bytes_max=150)
    stream = b"data: " + b"x" * 60 + b'\ndata: {"file":"' + LONGER + b'"}\n\n'
    found = whole(stream, limits, BEGINS)

    assert found == bytewise(stream, limits, BEGINS) == [TooLong("frame")]


@pytest.mark.parametrize("frame_bytes_max", range(1, 120, 7))
def test_plain_events_and_others_are_bounded_alike(frame_bytes_max: int) -> None:
    limits = WireLimits(frame_bytes_max=frame_bytes_max, line_bytes_max=64)
    for data in (b"data: aaaa\n\n" * 3, b"event: bb\ndata: aaaa\n\n" * 3):
        assert whole(data, limits) == bytewise(data, limits)


def test_the_whole_stream_is_bounded_at_the_byte() -> None:
    limits = WireLimits(stream_bytes_max=9)

    assert whole(b"data: a\n\n", limits) == [SseEvent(b"a")]
    found = whole(b"data: a\n\ndata: b\n\n", limits)
    assert found == [SseEvent(b"a"), TooLong("stream")]
    assert found == bytewise(b"data: a\n\ndata: b\n\n", limits)


@pytest.mark.parametrize("data", [b"data: ab", b"data: abc"])
def test_a_line_may_be_as_long_as_the_limit(data: bytes) -> None:
    decoder = Decoder(SMALL)
    assert decoder.feed(data) == ([] if len(data) == 8 else [Oversize(b" ab")])
    assert decoder.feed(b"\n\n") == ([SseEvent(b"ab")] if len(data) == 8 else [])


def test_nothing_follows_a_broken_limit() -> None:
    decoder = Decoder(SMALL)
    decoder.feed(b":2345678\n" * 3)

    assert decoder.over
    assert decoder.feed(b"data:a\n\n") == []


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_limits_must_be_whole_numbers(value: object) -> None:
    with pytest.raises(BadRequest, match="line_bytes_max"):
        WireLimits(line_bytes_max=value)  # type: ignore[arg-type]


ATOMS = [b"\r", b"\n", b"\r\n", b"data:", b"data: ", b"event: ", b"a", b":", b" ", b"id: 1",
         b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", b"\xff", b'"', b'"url":"', b'"file":"',
         b"data:a/b;base64,"]  # fmt: skip
RUNS = st.tuples(st.sampled_from(ATOMS), st.sampled_from([1, 1, 1, 2, 3, 7, 8, 9, 20, 21]))


@given(st.lists(RUNS, max_size=20).map(lambda runs: b"".join(a * n for a, n in runs)), st.data())
@example(b"data: a\r\n\r\n", None)
def test_p24_any_cut_gives_the_same_events(data: bytes, drawn: st.DataObject | None) -> None:
    for limits in (None, SMALL, FILES):
        found = whole(data, limits, BEGINS)
        assert found == bytewise(data, limits, BEGINS)
        if drawn is not None:
            places = sorted(drawn.draw(st.lists(st.integers(0, len(data)), max_size=5)))
            decoder = Decoder(limits, BEGINS)
            pieces = zip([0, *places], [*places, len(data)], strict=True)
            assert found == [e for a, b in pieces for e in decoder.feed(data[a:b])]


@given(st.lists(RUNS, max_size=20).map(lambda runs: b"".join(a * n for a, n in runs)))
def test_a_slow_and_obvious_reader_agrees(data: bytes) -> None:
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    events, lines, name = [], [], ""
    *rows, _ = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for row in rows:
        field, _, value = row.partition(":")
        value = value.removeprefix(" ")
        if row == "":
            if lines:
                events.append(("\n".join(lines), name))
            lines, name = [], ""
        elif field == "data":
            lines.append(value)
        elif field == "event":
            name = value

    found = [e for e in whole(data) if isinstance(e, SseEvent)]
    assert events == [(e.data.decode("utf-8", "replace"), e.name.decode()) for e in found]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.no_cover  # measuring would be most of its time
def test_p24_every_recording_in_every_cut(name: str) -> None:
    check_adapter(adapter(name), recording(name), seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_p24_every_recording_in_more_cuts(name: str) -> None:
    for seed in range(1, 10):
        check_adapter(adapter(name), recording(name), seed=seed)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("17-surrogates", "Hi 😀!"),
        ("17-separators", "a\u2028b\x85c\u2029d"),
        ("17-odd-events", "Hello"),
        ("crlf", "Hello"),
        ("cr", "Hello"),
        ("bom", "Hello"),
        ("utf8", "ü€😀"),
    ],
)
def test_fact_17_on_the_wire(name: str, text: str) -> None:
    assert replayed(f"openai-{name}").text == text


def test_fact_17_halves_that_stay_alone_are_passed_on() -> None:
    alone = b'data: {"choices":[{"delta":{"content":"a\\ud83d","reasoning":"\\ud83d"}}]}\n\n'
    more = b'data: {"choices":[{"delta":{"content":"b\\ude00","reasoning":"\\ud83d"}}]}\n\n'
    said = read("openai", alone + more + b"data: [DONE]\n\n")
    assert said.text == "a\ud83db\ude00"
    assert said.thoughts == "\ud83d\ud83d"

    said = read("openai", alone + b"data: [DONE]\n\n")
    assert (said.text, said.thoughts) == ("a\ud83d", "\ud83d")


def test_p24_bytes_that_are_not_utf_8_become_replacement_characters() -> None:
    data = b'data: {"choices":[{"delta":{"content":"a\xffb"}}]}\n\ndata: [DONE]\n\n'

    assert read("openai", data).text == "a\ufffdb"


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_a_line_with_a_picture_is_read_in_any_pieces(end: bytes) -> None:
    line = b"x" * 300_000
    data = b"data: a" + end + b"data: " + line + end + b"data: b" + end
    expected = [SseEvent(b"a"), SseEvent(line), SseEvent(b"b")]
    for size in (1_000, 65_537, 65_552, 150_000, len(data)):
        decoder = Decoder()
        found = [
            item for at in range(0, len(data), size) for item in decoder.feed(data[at : at + size])
        ]
        assert found == expected


def test_a_long_line_may_break_a_limit_with_its_last_bytes() -> None:
    limits = WireLimits(frame_bytes_max=70_000)
    decoder = Decoder(limits)
    assert decoder.feed(b"data: " + b"x" * 66_000) == []
    assert decoder.feed(b"x" * 5_000 + b"\n\ndata: a\n\n") == [TooLong("frame")]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_what_is_large_is_known_before_it_is_read(end: bytes) -> None:
    decoder = Decoder()
    assert not decoder.is_heavy(b"data: a" + end)
    for _ in range(5):
        assert not decoder.is_heavy(b"x" * 60_000)  # no line ends, so nothing is complete
        decoder.feed(b"x" * 60_000)
    assert decoder.is_heavy(end)
    # A reply that is no event stream is read at its end.
    assert decoder.is_heavy(None)
    decoder.feed(b"\ndata: a\n\n")
    assert not decoder.is_heavy(None)
