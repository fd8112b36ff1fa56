"""Every request that the tests of the senders make through minamo is checked."""

from support.overseer import overseen

__all__ = ["overseen"]
