"""The text core's figures, small enough for every run; `minamo bench text` has the whole curve."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = runpy.run_path(str(Path(__file__).with_name("bench_text.py")))


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCH["_curve"].__globals__, "SAMPLE", 32_000)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("small_samples")
def test_a_chunk_costs_the_same_in_a_long_reply(figure: Callable[[str], None]) -> None:
    for kind in BENCH["KINDS"]:
        curve = dict(BENCH["_curve"](kind, (4_000, 32_000)))
        small, large = curve[4_000] / 4_000, curve[32_000] / 32_000
        figure(
            f"{kind}: {large * 4e6:.1f} us per chunk of 4, {large / small:.2f} times the small one's"
        )
        assert large / small < 1.8  # a quadratic core would be at 8


@pytest.mark.parametrize("kind", BENCH["KINDS"])
def test_what_is_held_is_bounded(kind: str) -> None:
    assert BENCH["_peak_held"](kind) <= 16_000


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_growth_curve_is_straight(figure: Callable[[str], None]) -> None:
    for kind, figures in BENCH["measure"]().items():
        figure(f"{kind}: slope {figures['slope']}, {figures['us_per_chunk']} us per chunk")
        assert figures["slope"] <= 1.05
