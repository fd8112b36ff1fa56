"""How far apart things stand, and how to move them no further than that takes."""

from __future__ import annotations

from collections.abc import Sequence

from minamo.machine.drawing.picture import PITCH

GAP = 40
"""Between two boxes: room for three arrows."""
LIST_GAP = 20
"""Between boxes that no arrow joins."""
LABEL_GAP = 20
"""Between two labels: room for one arrow."""
REACH = 30
"""Between a box and a label: room for a bend and for the head of the arrow."""


def spread(wants: Sequence[tuple[int, int]], gap: int, room: int | None = None) -> list[int]:
    """Starts for pieces (wanted middle, size), in this order and *gap* apart.

    The least squares answer, by pooling neighbours that would collide, then put on the grid
    and, if there is enough of it, into the *room* from 0.
    """
    pools: list[tuple[int, int]] = []
    offsets: list[int] = []
    end = 0
    for want, size in wants:
        offsets.append(end)
        total, count = want - size // 2 - end, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
        end += size + gap
    shifts = [total // count // PITCH * PITCH for total, count in pools for _ in range(count)]
    if room is not None:
        most = room // PITCH * PITCH - end + gap
        shifts = [max(min(shift, most), 0) for shift in shifts]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]
