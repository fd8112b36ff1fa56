"""Count which rows of a chart real runs have taken."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

from minamo.machine.chart import Chart, Row
from minamo.machine.machine import Taken


@define
class Coverage:
    """An observer that remembers the rows it saw: ``machine.subscribe(coverage)``."""

    chart: Chart
    taken: Counter[int] = field(factory=Counter)

    def __call__(self, taken: Taken) -> None:
        """Note one step."""
        if taken.row is not None:
            self.taken[taken.row.index] += 1

    @property
    def missing(self) -> list[Row]:
        """The rows that no run has taken, in document order."""
        return [row for row in self.chart.rows if not self.taken[row.index]]

    def __str__(self) -> str:
        total = len(self.chart.rows)
        share = f"{total - len(self.missing)} of {total} rows taken"
        rows = "".join(f"\n  never: {row.name} (line {row.line})" for row in self.missing)
        return f"{self.chart.name}: {share}{rows}"
