"""Receipts: the outcome of each message in a loggable form, and the nonces of messages.

Receipts hold short codes and no exception text.
"""

from __future__ import annotations

from base64 import b32encode
from functools import lru_cache
from hashlib import blake2s
from typing import Literal

from attrs import frozen

from minamo.shell.delivery.interfaces import Kind

Outcome = Literal["delivered", "refused", "not_sent", "unknown"]

# Discord refuses a longer nonce.
NONCE_MAX = 25
# 80 bits: two streams of one bot share a digest once in 10^12 replies.
_DIGEST_BYTES = 10


@frozen(slots=True, kw_only=True)
class Receipt:
    """The outcome of one message.  It holds no text: that is for the reader, not for logs."""

    outcome: Outcome
    channel_id: int
    index: int
    """Zero-based index of this message within its stream."""
    characters: int
    message_id: int | None = None
    """None if it was not delivered, or was deleted before its id was known."""
    reason: str = ""
    """Why it was not delivered, as a short code."""
    note: str = ""
    """How delivery differs from the options, such as ``no_thread:no_permission``."""
    kind: Kind = "create"
    """The kind of call; only a create adds a message."""
    nonce: str | None = None
    attempts: int = 0
    """Number of calls made; hikari may have repeated each."""
    accepted_at: float = 0.0
    """In event loop time, like the next two."""
    sent_at: float | None = None
    """When the first call was made."""
    settled_at: float = 0.0

    @property
    def delivered(self) -> bool:
        """Whether Discord accepted it."""
        return self.outcome == "delivered"

    @property
    def lost(self) -> bool:
        """Whether its text is, or may be, missing from the channel."""
        return not self.delivered and self.kind != "delete"


def nonce_for(stream_id: str, index: int) -> str:
    """Return the nonce of a message: the same for each attempt, different for each message.

    Discord remembers it for only a few minutes; a stream's id must not be reused within them.
    """
    nonce = f"{_digest(stream_id)}-{index}"
    assert len(nonce) <= NONCE_MAX, f"message {index} of one stream"
    return nonce


@lru_cache(maxsize=256)  # concurrent streams
def _digest(stream_id: str) -> str:
    told = stream_id.encode("utf-8", "surrogatepass")
    return b32encode(blake2s(told, digest_size=_DIGEST_BYTES).digest()).decode().lower()
