"""What holds in every dialect: missing fields lose nothing, deep values are refused, and tokens are counted alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, Usage
from minamo.wire.json import total
from minamo.wire.sse import Decoder, SseEvent
from support.recordings import NAMES, adapter, chunks_of, gathered, once, read, recording

Path = tuple[str | int, ...]

#: What a dialect itself leaves out, so that its absence says nothing: with the reason.
OPTIONAL = {
    "openai": [
        # A delta brings what there is: a role, some text, a call, or nothing.
        r"choices\.0\.delta\.(content|tool_calls|reasoning.*)",
        # The last frame of some servers has its reason to finish and no delta.
        r"choices\.0\.delta(?=.* with finish_reason)",
        # A frame with usage has no choices on some servers.
        r"choices(?=.* with usage)",
        # One without an object need not be a chunk, and one that repeats the reply looks like one.
        r"choices(?=.* with no object)", r"object",
        # Parts of Mistral's content that have no text are of a kind that is not ours.
        r"choices\.0\.delta\.content\.\d+\.(text|type)",
        # A tool without parameters is called without arguments; a name that is missing is found.
        r"choices\.0\.delta\.tool_calls\.\d+\.function\.arguments(?=.* with name)",
        r".*\.function\.arguments\..*",
        # Pictures and speech, and the links and the words that come with them.
        r"choices\.0\.delta\.(images|audio)(\..*)?",
    ],
    "google": [
        # Frames with nothing but usage, or a safety rating, are usual.
        r"candidates", r"candidates\.0\.content", r"candidates\.0\.content\.parts",
        # Empty parts are observed, and those without text are of a kind that is not ours.
        r"candidates\.0\.content\.parts\.\d+\.(text|functionCall)",
        # A part is a thought, or it is not.
        r"candidates\.0\.content\.parts\.\d+\.thought",
        # A tool without parameters is called without arguments.
        r"candidates\.0\.content\.parts\.\d+\.functionCall\.(args|partialArgs)",
        r".*functionCall\.args\..*",
        # A program that the model ran, and its output.
        r"candidates\.0\.content\.parts\.\d+\.(executableCode|codeExecutionResult)(\..*)?",
    ],
    "responses": [],
    "anthropic": [
        # What stands in a block that begins is empty in a stream; only whole messages differ.
        r"content_block\.(text|input)(\..*)?", r"message\.content(\..*)?",
    ],
}  # fmt: skip


def events(name: str) -> list[SseEvent]:
    return [one for one in Decoder().feed(recording(name)) if isinstance(one, SseEvent)]


def as_json(event: SseEvent) -> Any:
    try:
        return json.loads(event.data.decode("utf-8", "replace"))
    except ValueError:
        return None


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Every field of an object, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(value, dict):
            yield (*at, key)
        if isinstance(inner, dict | list):
            yield from paths(inner, (*at, key))


def without(value: Any, path: Path) -> Any:
    value = deepcopy(value)
    spot = value
    for key in path[:-1]:
        spot = spot[key]
    del spot[path[-1]]
    return value


def written(stream: list[SseEvent]) -> bytes:
    lines = []
    for one in stream:
        name = f"event: {one.name.decode()}\n".encode() if one.name else b""
        lines.append(name + b"data: " + one.data.replace(b"\n", b"\ndata: ") + b"\n\n")
    return b"".join(lines)


def is_optional(dialect: str, frame: Any, path: Path) -> bool:
    return is_excused(OPTIONAL[dialect], frame, path)


def is_excused(rows: list[str], frame: Any, path: Path) -> bool:
    where = ".".join(map(str, path))
    marks = [mark for mark in ("finish_reason", "usage", "name") if _holds(frame, mark)]
    marks += ["no object"] if not _holds(frame, "object") else []
    told = "".join([where, *(f" with {mark}" for mark in marks), " with "])
    return any(re.match(rf"(?:{one})(?= with )", told) for one in rows)


def _holds(frame: Any, key: str) -> bool:
    """Whether *key* has a value anywhere in a frame."""
    if isinstance(frame, list):
        return any(_holds(one, key) for one in frame)
    if not isinstance(frame, dict):
        return False
    return bool(frame.get(key)) or any(_holds(one, key) for one in frame.values())


def units(text: str) -> bytes:
    """The text as UTF-16, in which half a character is a part of the whole one."""
    return text.encode("utf-16-le", "surrogatepass")


@cache
def without_each_field(name: str) -> list[tuple[int, Any, Path, list[Chunk]]]:
    """What is read of a recording if one field is missing: its event, its frame, the field."""
    stream, found = events(name), []
    for number, event in enumerate(stream):
        frame = as_json(event)
        for path in paths(frame) if isinstance(frame, dict) else ():
            data = json.dumps(without(frame, path)).encode()
            rest = [*stream[:number], SseEvent(data, event.name), *stream[number + 1 :]]
            found.append((number, frame, path, chunks_of(adapter(name), written(rest))))
    return found


WHOLE = [
    name
    for name in NAMES
    if isinstance(chunks_of(adapter(name), written(events(name)))[-1], DoneChunk)
]


@pytest.mark.parametrize("name", WHOLE)
def test_a_field_that_is_missing_is_not_missed_or_is_one_error(name: str) -> None:
    dialect = name.split("-")[0]
    said = gathered(chunks_of(adapter(name), written(events(name))))
    for number, frame, path, chunks in without_each_field(name):
        found = gathered(chunks)
        where = (number, path, found)
        errors = [chunk for chunk in chunks if isinstance(chunk, ErrorChunk)]
        if errors:
            assert errors == [found.last], where
            assert units(said.text).startswith(units(found.text)), where
            assert found.calls == [], where
        elif not is_optional(dialect, frame, path):
            assert (found.text, found.calls) == (said.text, said.calls), where


@pytest.mark.no_cover  # measuring would be most of its time
def test_every_exception_to_it_is_needed() -> None:
    """A row of the table that excuses nothing any more is to be deleted."""
    used = set()
    for name in WHOLE:
        dialect = name.split("-")[0]
        said = gathered(chunks_of(adapter(name), written(events(name))))
        for _, frame, path, chunks in without_each_field(name):
            found = gathered(chunks)
            silent = isinstance(found.last, DoneChunk)
            if silent and (found.text, found.calls) != (said.text, said.calls):
                used |= {row for row in OPTIONAL[dialect] if is_excused([row], frame, path)}
    assert used == {row for rows in OPTIONAL.values() for row in rows}


PLACES = {
    "openai": [
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":{"a":%s}}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a"},"extra_content":%s}]}}]}',
        '{"choices":[{"delta":{"reasoning_details":[{"a":%s}]}}]}',
        '{"choices":[{"delta":{"content":%s}}]}',
        '{"choices":[],"usage":%s,"model":%s,"provider":%s,"object":%s}',
        '{"error":{"message":%s,"code":%s,"details":[%s]}}',
        '{"object":"error","message":%s}',
        '{"unknown":%s}',
        "%s",
    ],
    "anthropic": [
        '{"type":"content_block_start","content_block":{"type":"tool_use","name":"a","input":%s}}',
        '{"type":"message_start","message":{"content":[{"type":"tool_use","input":{"a":%s}}]}}',
        '{"type":"message_start","message":{"id":"a","usage":%s,"model":%s}}',
        '{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":%s}}',
        '{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":%s}}',
        '{"type":"error","error":{"message":%s,"type":%s}}',
        '{"type":"error","error":%s}',
    ],
    "google": [
        '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{"a":%s}}}]}}]}',
        '{"candidates":[{"finishReason":"OTHER","finishMessage":%s}]}',
        '{"promptFeedback":{"blockReason":"a","blockReasonMessage":%s}}',
        '{"usageMetadata":%s,"modelVersion":%s}',
        '{"error":{"message":%s,"details":%s}}',
    ],
}


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(
    ("dialect", "place"), [(name, place) for name, places in PLACES.items() for place in places]
)
@pytest.mark.no_cover  # measuring would be most of its time
def test_p23_nesting_never_breaks_out(dialect: str, place: str, opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    # Around the depth at which Python gives up, which depends on where we are called from.
    for depth in (1, 63, 66, *range(780, 1_000, 9), *range(930, 990)):
        value = opening * depth + "0" + closing * depth
        data = f"data: {place.replace('%s', value)}\n\ndata: [DONE]\n\n".encode()
        said = once(dialect, data)

        assert isinstance(said.last, DoneChunk | ErrorChunk)
        assert depth < 65 or said.calls in ([], [("a", {})])


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
