"""The ratios that the design promises, measured in the suite as well."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = Path(__file__).with_name("bench_machine.py")


@pytest.mark.timeout(120)
def test_the_machine_is_nearly_a_table_and_far_from_a_library(
    figure: Callable[[str], None],
) -> None:
    found = runpy.run_path(str(BENCH))["measure"]()
    for key in ("ns_per_event", "ns_per_transition"):
        ours = found[key]["minamo"]
        by_hand = ours / found[key]["dict"]
        library = found[key]["python-statemachine"] / ours
        figure(f"{key}: {ours:.0f} ns, {by_hand:.2f} x a dict table, library {library:.0f} x ours")
        assert by_hand <= 5
        assert library >= 100
    figure(
        f"a new machine: {found['ns_per_machine']:.0f} ns, {found['bytes_per_machine']:.0f} bytes"
    )
    assert found["ns_per_machine"] <= 20_000
