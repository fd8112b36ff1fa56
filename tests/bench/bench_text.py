"""Measure the text core: what a chunk of four characters costs, and that it stays that way.

Everything is in it: lexer, machine, buffer, cleaning and fitting, with a lane that is idle.
"""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from typing import Any

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream

SIZES = (1_000, 16_000, 256_000, 1_000_000)
CHUNK = 4
SAMPLE = 256_000  # characters; the best of many short samples would flatter short texts
ROUNDS = 3

PROSE = (
    "The surface of the lake was still, and nobody spoke. Then a fish jumped, and the ring it "
    "made grew wider and wider until it reached the shore! We counted the seconds.\n\n"
)
KINDS = {
    "prose": ("", PROSE),
    "fence": ("```py\n", "    total += compute(value, 42)  # a line of code\n"),
    "think block": ("<think>", PROSE),
    "open bracket": ("(", "and so on, and so forth, without ever closing it "),
    "table": ("| name | size |\n|---|---|\n", "| a fish | 12 |\n"),
    "<-heavy": ("", "if a < b and b <c or <d then << e; "),
}


def _text(kind: str, size: int) -> str:
    head, unit = KINDS[kind]
    return (head + unit * (size // len(unit) + 1))[:size]


def _stream(text: str) -> Stream:
    stream = Stream(StreamConfig())
    outbox = stream.actions.outbox
    stream.actions.idle_lane = lambda: stream.delivered(len(outbox.take_segment()))
    for at in range(0, len(text), CHUNK):
        stream.chunk(TextChunk(text[at : at + CHUNK]))
    stream.end()
    return stream


def _seconds(text: str) -> float:
    """CPU time of one stream, from a sample of the same size whatever the text's."""
    streams = max(1, SAMPLE // len(text))
    begin = time.process_time()
    for _ in range(streams):
        _stream(text)
    return (time.process_time() - begin) / streams


def _curve(kind: str, sizes: tuple[int, ...]) -> list[tuple[int, float]]:
    """Sizes and seconds.  Interleaved, so that a slow minute of the machine is everybody's."""
    texts = {size: _text(kind, size) for size in sizes}
    best = dict.fromkeys(sizes, math.inf)
    for _ in range(ROUNDS):
        for size, text in texts.items():
            best[size] = min(best[size], _seconds(text))
    return list(best.items())


def _slope(points: list[tuple[int, float]]) -> float:
    """The slope of the straight line through the logarithms; 1 is linear."""
    xs, ys = [math.log(n) for n, _ in points], [math.log(s) for _, s in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    over = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return over / sum((a - x) ** 2 for a in xs)


def _peak_held(kind: str) -> int:
    """The most that lexer and buffer hold at any time, in characters."""
    stream = Stream(StreamConfig())
    outbox = stream.actions.outbox
    stream.actions.idle_lane = lambda: stream.delivered(len(outbox.take_segment()))
    text, most = _text(kind, 100_000), 0
    for at in range(0, len(text), CHUNK):
        stream.chunk(TextChunk(text[at : at + CHUNK]))
        most = max(most, len(stream.actions.buffer) + len(stream.actions.lexer.held))
    return most


def _memory(kind: str) -> int:
    """Bytes at the peak of streaming 256,000 characters, the reply itself included."""
    text = _text(kind, 256_000)
    tracemalloc.start()
    _stream(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Every figure, from one run."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        points = _curve(kind, sizes)
        found[kind] = {
            "us_per_chunk": {
                str(size): round(seconds / (size / CHUNK) * 1e6, 2) for size, seconds in points
            },
            "slope": round(_slope(points), 3),
            "peak_held_characters": _peak_held(kind),
            "peak_bytes": _memory(kind),
        }
    return found


def main(*, as_json: bool = False) -> int:
    """Measure and print."""
    found = measure()
    if as_json:
        print(json.dumps(found))
        return 0
    print(f"µs of CPU per chunk of {CHUNK} characters, the whole core with its machine")
    sizes = "".join(f"{size:>11,}" for size in SIZES)
    print(f"{'':<14}{sizes}   slope   held    peak")
    for kind, figures in found.items():
        costs = "".join(f"{cost:>11.2f}" for cost in figures["us_per_chunk"].values())
        held, peak = figures["peak_held_characters"], figures["peak_bytes"] / 1024
        print(f"{kind:<14}{costs}{figures['slope']:>8.3f}{held:>7,}{peak:>6,.0f}K")
    return 0
