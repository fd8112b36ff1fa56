"""Stream LLM replies into Discord through an explicit state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.errors import ChartError as ChartError
    from minamo.errors import MinamoError as MinamoError

__version__ = "0.1.0"

_HOMES = {
    "ChartError": "minamo.errors",
    "MinamoError": "minamo.errors",
}

__all__ = ["ChartError", "MinamoError", "__version__"]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
