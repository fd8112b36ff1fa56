"""A reply that reached its length can be taken up again, whatever its provider calls that."""

from __future__ import annotations

import pytest

from minamo.core.chunks import (
    Call,
    DoneChunk,
    ErrorChunk,
    FunctionCall,
    TextChunk,
    normal_finish_reason,
)
from minamo.core.result import StreamResult
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import listen, run_with_virtual_clock
from support.recordings import adapter, recording

LENGTH = ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "CONTINUATION"]


def finished(*chunks: TextChunk | FunctionCall | ErrorChunk | DoneChunk) -> StreamResult:
    return run_with_virtual_clock(lambda: listen(ScriptedProvider(chunks))).result


@pytest.mark.parametrize("reason", LENGTH)
def test_a_reply_at_its_length_has_a_prefill(reason: str) -> None:
    result = finished(TextChunk("Done. And then the"), DoneChunk(reason))
    assert (result.continuation_prefill, result.finish_reason) == ("And then the", "length")
    assert result.raw_finish_reason == reason


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "", "tool_calls", "SAFETY"])
def test_a_reply_that_ended_by_itself_has_none(reason: str) -> None:
    assert finished(TextChunk("Done. And then the"), DoneChunk(reason)).continuation_prefill == ""


@pytest.mark.parametrize(
    "name", ["openai-length", "google-length", "anthropic-length", "responses-length"]
)
def test_every_dialect_says_it_so(name: str) -> None:
    llm = adapter(name)
    decoder = llm.decoder()
    frames = [*decoder.feed(recording(name)), *decoder.end()]
    chunks = [chunk for frame in frames for chunk in llm.process_chunk(frame)]
    assert chunks[-1].finish_reason == "length"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("openai-05-pieces", "tool_calls"), ("google-parallel", "STOP"), ("anthropic-10-input-in-start", "tool_use"), ("responses-tools", "completed")],
)  # fmt: skip
def test_a_function_call_has_the_reason_too(name: str, reason: str) -> None:
    llm = adapter(name)
    decoder = llm.decoder()
    frames = [*decoder.feed(recording(name)), *decoder.end()]
    chunks = [chunk for frame in frames for chunk in llm.process_chunk(frame)]
    call = next(chunk for chunk in chunks if isinstance(chunk, FunctionCall))
    # The stream ends with the call; the done chunk after it is late.
    assert finished(TextChunk("x"), call).finish_reason == call.finish_reason == "tool_calls"
    assert finished(TextChunk("x"), call).raw_finish_reason == call.raw_finish_reason == reason
    assert finished(TextChunk("x"), FunctionCall((Call("a"),))).finish_reason == ""


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("", ""), ("STOP", "stop"), ("end_turn", "stop"), ("max_output_tokens", "length"),
        ("tool_use", "tool_calls"), ("IMAGE_SAFETY", "content_filter"), ("refusal", "refusal"),
        ("pause_turn", "pause"), ("MALFORMED_FUNCTION_CALL", "error"), ("sunset", "other"),
    ],
)  # fmt: skip
def test_one_form_for_all_providers(raw: str, normal: str) -> None:
    assert normal_finish_reason(raw) == normal
    result = finished(TextChunk("x"), DoneChunk(raw))
    assert (result.finish_reason, result.raw_finish_reason) == (normal, raw)
