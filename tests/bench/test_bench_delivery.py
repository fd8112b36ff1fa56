"""Delivery keeps up with bare hikari, measured in the suite as well."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = Path(__file__).with_name("bench_delivery.py")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_lane_is_nearly_as_fast_as_bare_hikari(figure: Callable[[str], None]) -> None:
    measure = runpy.run_path(str(BENCH))["measure"]
    # The best of three: other work on the computer can only make it look slower.
    found = max((measure() for _ in range(3)), key=lambda one: one["ratio"])
    ours, bare = found["minamo"], found["bare"]
    figure(
        f"delivery: {ours['messages_per_s']:.0f} messages/s, {found['ratio']:.2f} x bare hikari; "
        f"p99 {ours['p99_ms']:.2f} ms, bare {bare['p99_ms']:.2f} ms"
    )
    assert found["ratio"] >= 0.8
