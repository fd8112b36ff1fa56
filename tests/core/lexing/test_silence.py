"""The silence marker in a stream: held back while it may be all there is."""

from __future__ import annotations

import pytest

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.lexing.filters import Silence
from minamo.core.stream import Stream
from minamo.shell.driver import NullSink

MARK = "<silence/>"


def streamed(text: str, *, ending: str = "end", **settings: object) -> tuple[Stream, Silence]:
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    stream.actions.silence = Silence(MARK)
    NullSink(stream)
    for char in text:
        stream.chunk(TextChunk(char))
    getattr(stream, ending)()
    stream.flushed()
    return stream, stream.actions.silence


@pytest.mark.parametrize(
    ("text", "shown", "silent"),
    [
        (f" \n{MARK}\n", "", True),
        (f"<think>a <think> b</think>{MARK}", "", True),
        (f"plan</think>{MARK}", "", True),
        (f"{MARK}</think>{MARK}", "", True),
        (f"{MARK} so", f"{MARK} so", False),
        (f"Hi {MARK}", f"Hi {MARK}", False),
        ("<sil", "<sil", False),
        (f"{MARK}\n```\nx\n```", f"{MARK}\n```\nx\n```", False),
        (MARK + "\n" * 70, MARK, False),
        ("", "", False),
    ],
)
def test_only_the_marker_alone_is_silence(text: str, shown: str, silent: bool) -> None:
    stream, silence = streamed(text, clean_off=["blank_lines"])
    result = stream.result()
    assert (result.accumulated_text.strip(), silence.silent) == (shown, silent)
    assert result.status == ("completed" if shown else "empty_response")
    if silent:
        assert result.suppressed["marker"] >= len(MARK)


@pytest.mark.parametrize("text", ["<sile", MARK])
def test_a_kill_takes_back_what_is_held(text: str) -> None:
    stream, silence = streamed(text, ending="kill")
    assert (stream.result().suppressed, silence.silent) == ({"killed": len(text)}, False)


def test_a_prefill_is_not_shown_for_silence() -> None:
    stream, silence = streamed(MARK, prefill="Well, ")
    assert (stream.result().accumulated_text, silence.silent) == ("", True)
