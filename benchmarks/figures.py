"""Figures from rounds: medians, ratios with a 95 % interval, slopes."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import TypedDict

_RESAMPLES = 1_000


class Ratio(TypedDict):
    """The median of the rounds' ratios, and the interval that holds it with 95 % confidence."""

    ratio: float
    low: float
    high: float


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Compare round by round, so that what slows a whole round down is in both."""
    pairs = [over / under for over, under in zip(above, below, strict=False) if under]
    if not pairs:
        return {"ratio": math.nan, "low": math.nan, "high": math.nan}
    chance = random.Random(0)  # noqa: S311 - a bootstrap, repeatable
    medians = sorted(
        statistics.median(chance.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES)
    )
    low, high = medians[round(_RESAMPLES * 0.025)], medians[round(_RESAMPLES * 0.975) - 1]
    return {"ratio": short(statistics.median(pairs)), "low": short(low), "high": short(high)}


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line through the logarithms; 1 is linear, 2 quadratic."""
    xs, ys = [math.log(size) for size, _ in points], [math.log(took) for _, took in points]
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    over = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return round(over / sum((a - x) ** 2 for a in xs), 3)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which that *share* of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def short(value: float) -> float:
    """Return *value* with four significant digits."""
    return float(f"{value:.4g}")
