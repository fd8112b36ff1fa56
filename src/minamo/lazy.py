"""Lazy exports: names that are imported on first use (PEP 562).

`import minamo` must be fast, and most programs need a fraction of it: importing the YAML reader,
the statechart library and hikari costs far more than all of minamo's own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def homes_of(exports: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name; *exports* maps modules to names separated by blanks."""
    return {name: module for module, names in exports.items() for name in names.split()}


def lazy_exports(package: str, exports: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module ``__getattr__`` for *package*; for *exports* see `homes_of`."""
    homes = homes_of(exports)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get
