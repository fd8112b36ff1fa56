"""P24, without atheris: recordings mangled by dice, and bytes from Hypothesis."""

from __future__ import annotations

import random
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recordings import NAMES, recording

CHECKS: dict[str, Callable[[bytes], None]] = {
    name: runpy.run_path(str(Path(__file__).parent / f"fuzz_{name}.py"))["check"]
    for name in ("sse", "dialects")
}
DIALECTS = ("openai", "anthropic", "google")
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


def mangled(dice: random.Random) -> bytes:
    """A few events of one dialect, hurt in a few places."""
    dialect = dice.randrange(3)
    events = EVENTS[DIALECTS[dialect]]
    data = b"".join(dice.choice(events) + dice.choice(ENDS) for _ in range(dice.randrange(1, 5)))
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        at = dice.randrange(len(data) + 1)
        to = min(len(data), at + dice.choice((0, 1, 2, 8, 40)))
        data = data[:at] + (dice.choice(WORDS) if dice.random() < 0.7 else b"") + data[to:]
    return bytes((dialect, dice.randrange(256))) + data


def run(count: int, seed: int) -> None:
    dice = random.Random(seed)
    for number in range(count):
        data = mangled(dice)
        for name, check in CHECKS.items():
            if name == "sse" and number % 4:
                continue  # byte by byte costs more, and has less to find
            try:
                check(data)
            except BaseException:
                print(f"{name} seed={seed} number={number} data={data!r}")
                raise


def test_p24_any_bytes_a_few() -> None:
    run(2_000, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(6))
def test_p24_any_bytes(seed: int, figure: Callable[[str], None]) -> None:
    begin = time.perf_counter()
    run(50_000, seed=1_000 + seed)
    figure(f"P24 50,000 mangled streams, seed {1_000 + seed}: {time.perf_counter() - begin:.0f} s")


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
