"""P24, without atheris: recordings mangled by dice, and bytes from Hypothesis."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.recordings import NAMES, recording
from support.seeds import dice, seeds

CHECKS: dict[str, Callable[[bytes], None]] = {
    name: runpy.run_path(str(Path(__file__).parent / f"fuzz_{name}.py"))["check"]
    for name in ("sse", "dialects")
}
DIALECTS = ("openai", "anthropic", "google", "responses")
EVENTS = {
    dialect: sorted(
        {
            event
            for name in NAMES
            if name.startswith(dialect)
            for event in recording(name).replace(b"\r\n", b"\n").split(b"\n\n")
        }
    )
    for dialect in DIALECTS
}
WORDS = [b"null", b"{}", b"[]", b'""', b"7", b"-1", b"true", b"1e999", b"NaN", b'"\\ud83d"',
         b"\xff", b"\r", b"\n", b"\r\n", b": x\n", b"data: ", b"[DONE]", b'"error":{"message":1}',
         b'"index":0', b"[[[[[[[[", b"\xef\xbb\xbf", b"\x00", b"tool_use", b"text"]  # fmt: skip
ENDS = [b"\n\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b""]


def mangled(rng: random.Random) -> bytes:
    """A few events of one dialect, hurt in a few places."""
    dialect = rng.randrange(len(DIALECTS))
    events = EVENTS[DIALECTS[dialect]]
    data = b"".join(rng.choice(events) + rng.choice(ENDS) for _ in range(rng.randrange(1, 5)))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((0, 1, 2, 8, 40)))
        data = data[:at] + (rng.choice(WORDS) if rng.random() < 0.7 else b"") + data[to:]
    return bytes((dialect, rng.randrange(256))) + data


def check_mangled(rng: random.Random, seed: int) -> None:
    data = mangled(rng)
    CHECKS["dialects"](data)
    if seed % 4 == 0:  # byte by byte costs more, and has less to find
        CHECKS["sse"](data)


def test_p24_any_bytes_a_few() -> None:
    for seed in seeds(2_000):
        with dice(seed) as rng:
            check_mangled(rng, seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(12))
def test_p24_300_000_mangled_streams(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(25_000, part):
        with dice(seed) as rng:
            check_mangled(rng, seed)
    figure("P24: 25,000 mangled streams")


FRAGMENTS: Any = st.one_of(
    st.sampled_from(WORDS + ENDS),
    st.sampled_from([e for events in EVENTS.values() for e in events]),
    st.binary(max_size=6),
)


@given(st.binary(min_size=2, max_size=2), st.lists(FRAGMENTS, max_size=6))
def test_p24_bytes_from_hypothesis(head: bytes, parts: list[bytes]) -> None:
    for check in CHECKS.values():
        check(head + b"".join(parts))


def test_the_checks_themselves_can_fail() -> None:
    globals_of = CHECKS["dialects"].__globals__
    kept = globals_of["read"]
    globals_of["read"] = lambda adapter, pieces: kept(adapter, pieces)[: len(pieces)]
    try:
        with pytest.raises(AssertionError):
            CHECKS["dialects"](b"\x00\x80" + recording("openai-text"))
    finally:
        globals_of["read"] = kept
