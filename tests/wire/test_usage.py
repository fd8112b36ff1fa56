"""Tokens are counted alike: the cache is a part of the input, thoughts are one of the output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, Usage
from minamo.wire.json import total
from support.recordings import read


def counted(dialect: str, *frames: dict[str, Any]) -> Usage | None:
    data = b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)
    last = read(dialect, data).last
    assert isinstance(last, DoneChunk)
    return last.usage


def test_anthropic_counts_the_cache_apart() -> None:
    begin = {"input_tokens": 9, "cache_read_input_tokens": 100, "output_tokens": 1}
    begun = {"type": "message_start", "message": {"id": "m", "usage": begin}}
    usage = {"cache_creation_input_tokens": 20, "input_tokens": None, "output_tokens": 5}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}

    assert counted("anthropic", begun, ended) == Usage(129, 5, None, 100)


def test_gemini_counts_thoughts_and_the_answers_of_its_own_tools_apart() -> None:
    usage = {"promptTokenCount": 9, "toolUsePromptTokenCount": 50, "candidatesTokenCount": 4,
             "thoughtsTokenCount": 30, "totalTokenCount": 93}  # fmt: skip
    end = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}

    assert counted("google", end) == Usage(59, 34, 30)


def test_usage_that_comes_with_text_only_is_counted() -> None:
    said = {"content": {"parts": [{"text": "a"}]}}
    frames = [
        {"candidates": [said], "usageMetadata": {"promptTokenCount": count}} for count in (3, 4, 5)
    ]
    end = {"candidates": [{"finishReason": "STOP"}]}
    assert counted("google", *frames, end) == Usage(5)

    delta = {"choices": [{"delta": {"content": "a"}}]}
    frames = [{**delta, "usage": {"prompt_tokens": count}} for count in (3, 4, 5)]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    assert counted("openai", *frames, end) == Usage(5)


@pytest.mark.parametrize(
    ("completion", "whole", "output"),
    [(9, 135, 103), (103, 135, 103), (9, None, 9)],
)
def test_xai_counts_thoughts_apart(completion: int, whole: int | None, output: int) -> None:
    usage = {"prompt_tokens": 32, "completion_tokens": completion, "total_tokens": whole,
             "completion_tokens_details": {"reasoning_tokens": 94}}  # fmt: skip
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}

    assert counted("openai", end) == Usage(32, output, 94)


def test_what_nobody_counted_is_unknown() -> None:
    assert total(None, None) is None
    assert total(None, 0) == 0
