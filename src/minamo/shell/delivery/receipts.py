"""What became of each message, in a form that can be logged: short codes, no exception text."""

from __future__ import annotations

from base64 import b32encode
from functools import lru_cache
from hashlib import blake2s
from typing import Literal

from attrs import frozen

from minamo.shell.delivery.interfaces import Kind

Outcome = Literal["delivered", "refused", "not_sent", "unknown"]

# Discord refuses a longer one.
NONCE_MAX = 25
# 80 bits: two streams of one bot share a digest once in a million million replies.
_DIGEST_BYTES = 10


@frozen(slots=True, kw_only=True)
class Receipt:
    """What became of one message.  It holds no text: that is the reader's, not the log's."""

    outcome: Outcome
    channel_id: int
    index: int
    """The how-manieth message of its stream, from 0."""
    characters: int
    message_id: int | None = None
    """None if it was not delivered, or was deleted before anybody could say its id."""
    reason: str = ""
    """Why not, as a short code."""
    note: str = ""
    """How else than asked for, such as ``no_thread:no_permission``."""
    kind: Kind = "create"
    """What was asked for: only a create is one more message."""
    nonce: str | None = None
    attempts: int = 0
    """Calls made; hikari may have repeated each."""
    accepted_at: float = 0.0
    """On the clock of the event loop, as the next two."""
    sent_at: float | None = None
    """When the first call went out."""
    settled_at: float = 0.0

    @property
    def delivered(self) -> bool:
        """Whether Discord has it."""
        return self.outcome == "delivered"

    @property
    def lost(self) -> bool:
        """Whether its reader misses it, or may."""
        return not self.delivered and self.kind != "delete"


def nonce_for(stream_id: str, index: int) -> str:
    """The same for every attempt at one message, and different for every other message.

    Discord remembers it for a few minutes only, so a stream's id must not be used again in them.
    """
    nonce = f"{_digest(stream_id)}-{index}"
    assert len(nonce) <= NONCE_MAX, f"message {index} of one stream"
    return nonce


@lru_cache(maxsize=256)  # streams that are under way at one time
def _digest(stream_id: str) -> str:
    told = stream_id.encode("utf-8", "surrogatepass")
    return b32encode(blake2s(told, digest_size=_DIGEST_BYTES).digest()).decode().lower()
