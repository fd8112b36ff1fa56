"""What the page wants to know of a delivery; `minamo.shell` has classes that look like this."""

from __future__ import annotations

from typing import Any, Protocol


class Embed(Protocol):
    """A notice."""

    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def colour(self) -> int | None: ...


class Post(Protocol):
    """A message as it goes out."""

    @property
    def channel_id(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def reply_to(self) -> int | None: ...
    @property
    def embed(self) -> Any: ...


class Receipt(Protocol):
    """What became of one message."""

    @property
    def outcome(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def characters(self) -> int: ...
    @property
    def message_id(self) -> int | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def accepted_at(self) -> float: ...
    @property
    def settled_at(self) -> float: ...


def receipt_record(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON."""
    return {
        "index": receipt.index,
        "call": receipt.kind,
        "outcome": receipt.outcome,
        "reason": receipt.reason,
        "characters": receipt.characters,
        "attempts": receipt.attempts,
        "message": str(receipt.message_id) if receipt.message_id is not None else None,
        "took": round(max(receipt.settled_at - receipt.accepted_at, 0.0), 3),
    }
