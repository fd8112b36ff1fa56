"""The driver keeps its goals under load, measured in the suite as well."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).with_name("bench_load.py")


def once(**size: Any) -> dict[str, Any]:
    """One run; its figures are medians already."""
    found: dict[str, Any] = runpy.run_path(str(BENCH))["measure"](**size)
    return found


def told(found: dict[str, Any]) -> str:
    loads = "; ".join(
        f"{one['streams']} x 20/s p99 {one['p99_ms']:.1f} ms" for one in found["load"]
    )
    return (
        f"load: {found['cpu']['cpu_us_per_chunk']:.1f} µs CPU per chunk of 4, "
        f"{found['cpu']['cpu_us_per_long_chunk']:.1f} per chunk of 24; {loads}; "
        f"{found['idle']['idle_bytes']:,} bytes per idle stream"
    )


def test_a_small_load(figure: Callable[[str], None]) -> None:
    found = once(chunks=1_000, loads=(20,), seconds=0.3, idle=100)
    figure(told(found))
    goals = found["goals"]
    # Small, and on a computer that does other things too: the goals are for the slow suite.
    assert found["cpu"]["cpu_us_per_chunk"] <= 4 * goals["cpu_us_per_chunk"]
    assert found["idle"]["idle_bytes"] <= goals["idle_bytes"]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_load_of_a_busy_bot(figure: Callable[[str], None]) -> None:
    found = once()
    figure(told(found))
    goals = found["goals"]
    assert found["cpu"]["cpu_us_per_chunk"] <= goals["cpu_us_per_chunk"]
    assert found["load"][0]["streams"] == 400
    assert found["load"][0]["p99_ms"] <= goals["p99_ms"]
    assert found["idle"]["idle_bytes"] <= goals["idle_bytes"]
