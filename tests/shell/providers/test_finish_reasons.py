"""A reply that reached its length can be taken up again, whatever its provider calls that."""

from __future__ import annotations

import pytest

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk, is_cut_off
from minamo.core.result import StreamResult
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import listen, run_with_virtual_clock
from support.recordings import adapter, recording

LENGTH = ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "CONTINUATION"]


def finished(*chunks: TextChunk | FunctionCall | ErrorChunk | DoneChunk) -> StreamResult:
    return run_with_virtual_clock(lambda: listen(ScriptedProvider(chunks))).result


@pytest.mark.parametrize("reason", LENGTH)
def test_a_reply_at_its_length_has_a_prefill(reason: str) -> None:
    assert is_cut_off(reason)
    result = finished(TextChunk("Done. And then the"), DoneChunk(reason))
    assert (result.continuation_prefill, result.finish_reason) == ("And then the", reason)


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "", "tool_calls", "SAFETY"])
def test_a_reply_that_ended_by_itself_has_none(reason: str) -> None:
    assert not is_cut_off(reason)
    assert finished(TextChunk("Done. And then the"), DoneChunk(reason)).continuation_prefill == ""


@pytest.mark.parametrize("name", ["openai-length", "google-length", "anthropic-length"])
def test_every_dialect_says_it_so(name: str) -> None:
    llm = adapter(name)
    decoder = llm.decoder()
    frames = [*decoder.feed(recording(name)), *decoder.end()]
    chunks = [chunk for frame in frames for chunk in llm.process_chunk(frame)]
    assert is_cut_off(chunks[-1].finish_reason)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("openai-05-pieces", "tool_calls"), ("google-parallel", "STOP"), ("anthropic-10-input-in-start", "tool_use")],
)  # fmt: skip
def test_a_function_call_has_the_reason_too(name: str, reason: str) -> None:
    llm = adapter(name)
    decoder = llm.decoder()
    frames = [*decoder.feed(recording(name)), *decoder.end()]
    chunks = [chunk for frame in frames for chunk in llm.process_chunk(frame)]
    call = next(chunk for chunk in chunks if isinstance(chunk, FunctionCall))
    # The stream ends with the call; the done chunk after it is late.
    assert finished(TextChunk("x"), call).finish_reason == call.finish_reason == reason
    assert finished(TextChunk("x"), FunctionCall((Call("a"),))).finish_reason == ""
