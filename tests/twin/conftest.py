"""Every request that the tests of the twin make through minamo is checked."""

from support.overseer import overseen

__all__ = ["overseen"]
