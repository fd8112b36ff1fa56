"""What a reply cost, counted alike whoever counts.

What was read from a cache is a part of the input, what was thought a part of the output.  So
OpenAI says it; others count these apart.
"""

from __future__ import annotations


def total(*counts: int | None) -> int | None:
    """Parts together; what nobody counted stays unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
