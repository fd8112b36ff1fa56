"""Dice with a seed for every case, so that the case that failed can be had again by itself.

`MINAMO_SEED=123 pytest -k p03`, or `make promises SEED=123`, makes every test that throws dice
begin at 123.  A failure names the seed of its case: begun there, the test meets it first.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings

FIRST = int(os.environ.get("MINAMO_SEED", "0"))


def seeds(count: int, part: int = 0) -> range:
    """The seeds of one part of many; the parts go to different workers."""
    return range(FIRST + part * count, FIRST + (part + 1) * count)


def examples(quick: int, promises: int) -> int:
    """How many examples Hypothesis makes: *quick* of them, or so many in `make promises`."""
    return promises if settings().max_examples > 100 else quick


@contextmanager
def dice(seed: int) -> Iterator[random.Random]:
    """The dice of one case; what goes wrong in it tells the seed."""
    try:
        yield random.Random(seed)
    except BaseException as error:
        error.add_note(f"seed={seed}: MINAMO_SEED={seed} makes this test begin here")
        raise
