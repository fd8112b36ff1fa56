"""Every request that the tests of the logs make through minamo is checked."""

from support.overseer import overseen

__all__ = ["overseen"]
