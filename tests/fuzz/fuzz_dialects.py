"""Any bytes, in any dialect, give chunks and end in done or one error; any cut gives the same.

Coverage-guided: ``python tests/fuzz/fuzz_dialects.py -max_total_time=60 tests/wire/recordings``
with atheris installed.  `test_fuzz.py` runs the same check without it.
"""

from __future__ import annotations

import sys
from typing import Any

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.limits import WireLimits

SMALL = WireLimits(line_bytes_max=4_096, argument_chars_max=256, calls_max=4)
ADAPTERS: list[Any] = [
    OpenAICompatible("http://127.0.0.1:9/v1", model="m", limits=SMALL),
    Anthropic(model="m", api_key="k", base_url="http://127.0.0.1:9", limits=SMALL),
    Gemini(model="m", api_key="k", base_url="http://127.0.0.1:9", limits=SMALL),
    OpenAI(model="m", api_key="k", base_url="http://127.0.0.1:9", limits=SMALL),
]


def read(adapter: Any, pieces: list[bytes]) -> list[Chunk]:
    """The chunks of a stream that arrives in these pieces."""
    decoder = adapter.decoder()
    frames = [frame for piece in pieces for frame in decoder.feed(piece)]
    return [c for frame in (*frames, *decoder.end()) for c in adapter.process_chunk(frame)]


def read_without_frames(adapter: Any, pieces: list[bytes]) -> list[Chunk]:
    """The same by the way on which no frames are made."""
    response = adapter._response()
    return [chunk for piece in (*pieces, None) for chunk in response.read(piece)]


def check(data: bytes) -> None:
    """The first byte chooses the dialect, the second where to cut, the rest is a stream."""
    if len(data) < 2:
        return
    adapter, stream = ADAPTERS[data[0] % len(ADAPTERS)], data[2:]
    place = data[1] * len(stream) // 256
    chunks = read(adapter, [stream])

    for pieces in ([stream[:place], stream[place:]], [stream]):
        assert chunks == read(adapter, pieces)
        assert chunks == read_without_frames(adapter, pieces)
    *before, last = chunks
    assert isinstance(last, DoneChunk | ErrorChunk)
    assert not any(isinstance(chunk, DoneChunk | ErrorChunk) for chunk in before)
    calls = [chunk for chunk in before if isinstance(chunk, FunctionCall)]
    assert calls == [chunk for chunk in before[-1:] if isinstance(chunk, FunctionCall)]
    for call in (call for chunk in calls for call in chunk.calls):
        assert call.name
        assert isinstance(call.arguments, dict)
    assert all(isinstance(chunk.content, str) for chunk in before if isinstance(chunk, TextChunk))


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
