"""Names that are imported when they are first used (PEP 562).

`import minamo` must be quick, and most programs need a fraction of it: reading YAML, the
statechart library and hikari cost far more than everything of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A module ``__getattr__`` for *package*; *homes* says in which module each name lives."""

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get
