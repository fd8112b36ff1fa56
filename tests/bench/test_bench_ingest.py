"""The measurement of the provider side runs, and its figures are of the promised size."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCH = runpy.run_path(str(Path(__file__).parent / "bench_ingest.py"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_measurement_runs(
    figure: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BENCH["measure"].__globals__, "FRAMES", 100)
    found: dict[str, Any] = BENCH["measure"](rounds=1)

    json.dumps(found)
    assert set(found["us_per_chunk"]) == {"openai", "google", "anthropic"}
    figure(f"ingest: {found['us_per_chunk']}")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_promised_figures(figure: Callable[[str], None]) -> None:
    found: dict[str, Any] = BENCH["measure"]()
    figure(f"ingest: {found}")

    assert all(times <= 2 for times in found["times_floor"].values()), found
    assert all(times >= 8 for times in found["sdk_times_minamo"].values()), found
