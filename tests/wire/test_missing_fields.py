"""A field that is missing from a frame loses no text and no call in silence, in any dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk
from minamo.wire.sse import Decoder, SseEvent
from support.recordings import NAMES, adapter, gathered, recording

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


def chunks_of(name: str, stream: list[SseEvent]) -> list[Chunk]:
    llm = adapter(name)
    decoder = llm.decoder()
    frames = [*decoder.feed(written(stream)), *decoder.end()]
    return [chunk for frame in frames for chunk in llm.process_chunk(frame)]


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
            found.append((number, frame, path, chunks_of(name, rest)))
    return found


WHOLE = [name for name in NAMES if isinstance(chunks_of(name, events(name))[-1], DoneChunk)]


@pytest.mark.parametrize("name", WHOLE)
def test_a_field_that_is_missing_is_not_missed_or_is_one_error(name: str) -> None:
    dialect = name.split("-")[0]
    said = gathered(chunks_of(name, events(name)))
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
        said = gathered(chunks_of(name, events(name)))
        for _, frame, path, chunks in without_each_field(name):
            found = gathered(chunks)
            silent = isinstance(found.last, DoneChunk)
            if silent and (found.text, found.calls) != (said.text, said.calls):
                used |= {row for row in OPTIONAL[dialect] if is_excused([row], frame, path)}
    assert used == {row for rows in OPTIONAL.values() for row in rows}
