"""Which children of a compound state stand in which column, and which columns in which band.

A state comes after every sibling written before it that it is connected with, so a picture
follows the order of its document.  The layers this makes run from left to right and, like
text, go on in a further band below.  How many bands is for the caller to choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

Bands = list[list[list[str]]]
"""Bands from top to bottom, of columns from left to right, of keys from top to bottom."""

# Up to this many layers all the ways to cut them are tried: eight ways for four.
_LAYERS_MAX = 4


def bandings(keys: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Iterator[Bands]:
    """The ways worth comparing, for children *keys* of which *pairs* are connected."""
    layers = _layers(keys, pairs)
    for cuts in _cuts(len(layers)):
        groups = [layers[a:b] for a, b in pairwise(cuts)]
        alone = max((len(group[0]) for group in groups if len(group) == 1), default=1)
        for columns in sorted({1, min(2, alone), min(3, alone), alone}):
            yield [_columns(group[0], columns) if len(group) == 1 else group for group in groups]


def _layers(keys: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    order = {key: n for n, key in enumerate(keys)}
    forward = sorted((max(order[a], order[b]), min(order[a], order[b])) for a, b in pairs)
    rank = [0] * len(keys)
    for later, earlier in forward:
        if later != earlier:
            rank[later] = max(rank[later], rank[earlier] + 1)
    layers: list[list[str]] = [[] for _ in range(max(rank) + 1)]
    for key, at in zip(keys, rank, strict=True):
        layers[at].append(key)
    return layers


def _cuts(count: int) -> Iterator[list[int]]:
    if count <= _LAYERS_MAX:
        for mask in range(1 << (count - 1)):
            yield [0, *(n + 1 for n in range(count - 1) if mask >> n & 1), count]
    else:
        for length in range(count, 0, -1):
            yield [*range(0, count, length), count]


def _columns(keys: list[str], columns: int) -> list[list[str]]:
    height = -(-len(keys) // columns)
    return [keys[n : n + height] for n in range(0, len(keys), height)]
