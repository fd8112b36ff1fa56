"""The settings of a stream as the first line of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import fields

from minamo.core.config import StreamConfig
from minamo.core.trace import SETTINGS


def settings_of(config: StreamConfig) -> dict[str, Any]:
    """What a replay must be told to behave as a stream with *config*."""
    return dict(_changed(config, StreamConfig(humanize=False)))


def _changed(config: StreamConfig, usual: StreamConfig) -> Iterator[tuple[str, Any]]:
    known = {one.name for one in fields(StreamConfig)} & set(SETTINGS)
    # The wire has removed overlaps before a chunk is recorded; doing it twice would eat text.
    for name in sorted(known - {"overlap_removal"}):
        value = getattr(config, name)
        if value != getattr(usual, name):
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value
