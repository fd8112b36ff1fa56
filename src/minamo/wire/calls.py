"""Put tool calls together from pieces: bounded, and whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minamo.core.chunks import Call
from minamo.wire.decode import measure, strictly
from minamo.wire.limits import ARGUMENT_DEPTH_MAX, WireLimits
from minamo.wire.surrogates import joined


class Draft:
    """One call, while its pieces arrive."""

    __slots__ = ("arguments", "id", "name", "pieces", "replay")

    def __init__(self, name: str = "", call_id: str = "") -> None:
        self.name = name
        self.id = call_id
        self.pieces: list[str] = []
        self.arguments: Mapping[str, Any] = {}
        """Arguments that came as an object; pieces of JSON, if any, take their place."""
        self.replay: dict[str, Any] = {}


class Calls:
    """Every call of one reply, in the order in which they began."""

    __slots__ = ("_chars", "_limits", "drafts", "problem")

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._chars = 0
        self.drafts: list[Draft] = []
        self.problem = ""
        """Why there can be no calls any more, in a few words."""

    def open(self, name: str = "", call_id: str = "") -> Draft:
        """Begin a call."""
        draft = Draft(name, call_id)
        if len(self.drafts) == self._limits.calls_max:
            self.problem = "too many tool calls"
        else:
            self.drafts.append(draft)
        return draft

    def grow(self, draft: Draft, piece: str) -> None:
        """Add a piece of JSON to a call."""
        if piece and self.count(len(piece)):
            draft.pieces.append(piece)

    def give(self, draft: Draft, arguments: Any) -> None:
        """Arguments that came whole, as a value."""
        if self.count(measure(arguments)[0]):
            draft.arguments = arguments

    def count(self, chars: int) -> bool:
        """Note that arguments grew; False if they grew too long."""
        self._chars += chars
        if self._chars > self._limits.argument_chars_max:
            self.problem = "tool arguments too long"
            for draft in self.drafts:
                draft.pieces.clear()
        return not self.problem

    def finish(self, *, cut_off: bool = False) -> tuple[Call, ...]:
        """All calls, whole; none, and `problem` set, if one of them is not.

        A reply that was cut off at its length may have lost the arguments of its last call:
        none at all then means too few, not `{}`.
        """
        if cut_off and any(not draft.pieces and not draft.arguments for draft in self.drafts):
            self.problem = self.problem or "cut off inside a tool call"
        calls = [self._finish(draft) for draft in self.drafts]
        return () if self.problem else tuple(calls)

    def _finish(self, draft: Draft) -> Call:
        arguments: Any = draft.arguments
        text = joined("".join(draft.pieces))
        if text.strip():
            try:
                arguments = strictly(text)
            except ValueError:
                self.problem = self.problem or "tool arguments are not JSON"
            if arguments is None:  # a server's word for a call without any
                arguments = {}
        if not isinstance(arguments, Mapping):
            self.problem = self.problem or "tool arguments are not an object"
        elif measure(arguments)[1] > ARGUMENT_DEPTH_MAX:
            self.problem = self.problem or "tool arguments nest too deep"
        if not draft.name:
            self.problem = self.problem or "a tool call without a name"
        return Call(draft.name, arguments, draft.id, draft.replay)
