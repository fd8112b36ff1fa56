"""Every request that the tests of delivery make through minamo is checked."""

from support.overseer import overseen

__all__ = ["overseen"]
