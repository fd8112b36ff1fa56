"""The recorded streams, and what an adapter makes of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from minamo.core.chunks import (
    Call,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    normal_finish_reason,
)
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.testing import check_adapter

FOLDER = Path(__file__).parents[1] / "wire" / "recordings"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sse"))
KEY = "sk-canary-0123456789abcdef"
ORIGIN = {"origin": "127.0.0.1/m"}
"""What the reasoning of a recording is stamped with."""


def adapter(name: str, base_url: str = "http://127.0.0.1:9", **options: Any) -> Any:
    """The adapter for a dialect, or for the dialect of a recording."""
    if name.startswith("openai"):
        return OpenAICompatible(f"{base_url}/v1", model="m", api_key=KEY, **options)
    if name.startswith("responses"):
        return OpenAI(model="m", api_key=KEY, base_url=f"{base_url}/v1", **options)
    kind = Gemini if name.startswith("google") else Anthropic
    return kind(model="m", api_key=KEY, base_url=base_url, **options)


def recording(name: str) -> bytes:
    return (FOLDER / f"{name}.sse").read_bytes()


@frozen
class Said:
    """A whole reply."""

    text: str
    thoughts: str
    calls: list[tuple[str, dict[str, Any]]]
    last: DoneChunk | ErrorChunk
    raw_calls: tuple[Call, ...]
    files: tuple[FileChunk, ...] = ()


def gathered(chunks: Iterable[Chunk]) -> Said:
    text, thoughts, calls, files = "", "", (), ()
    last: Any = None
    for chunk in chunks:
        thoughts += "".join(chunk.thoughts)
        if isinstance(chunk, TextChunk):
            text += chunk.content
        elif isinstance(chunk, FileChunk):
            files = (*files, chunk)
        elif isinstance(chunk, FunctionCall):
            calls = chunk.calls
        last = chunk
    pairs = [(call.name, dict(call.arguments)) for call in calls]
    return Said(text, thoughts, pairs, last, calls, files)


def replayed(name: str, llm: Any = None) -> Said:
    """A recording, read whole, byte by byte and in random cuts, with frames and without."""
    return _read(llm or adapter(name), recording(name))


def once(dialect: str, data: bytes) -> Said:
    """Some bytes, read whole only: for what is too long to be read byte by byte in a test."""
    response = adapter(dialect)._response()
    return gathered([*response.read(data), *response.read(None)])


def read(dialect: str, data: bytes, **options: Any) -> Said:
    """Some bytes, likewise."""
    return _read(adapter(dialect, **options), data)


def _read(llm: Any, data: bytes) -> Said:
    chunks = check_adapter(llm, data)
    assert chunks == chunks_of(llm, data)
    return gathered(chunks)


def chunks_of(llm: Any, data: bytes) -> list[Chunk]:
    """The chunks of a response, which are the same with frames and without."""
    decoder, response = llm.decoder(), llm._response()
    frames = [*decoder.feed(data), *decoder.end()]
    chunks = [chunk for frame in frames for chunk in llm.process_chunk(frame)]
    assert chunks == [*response.read(data), *response.read(None)]
    return chunks


def done(raw: str, *told: Any, **more: Any) -> DoneChunk:
    """The done chunk of an adapter for a finish reason in the provider's own word."""
    return DoneChunk(normal_finish_reason(raw), *told, raw_finish_reason=raw, **more)
