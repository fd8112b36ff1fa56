"""Console output of the demo: a stream of events for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from minamo.inspect.hub import Hub, Page
from minamo.shell.turns.turn_result import TurnResult

Json = dict[str, Any]
Tell = Callable[[Json], object]


@define(eq=False)
class ConsoleView:
    """A subscriber of the hub that reports new messages, typing and states of one channel."""

    hub: Hub = field(repr=False)
    bot_id: str
    tell: Tell = field(repr=False)
    _page: Page | None = field(default=None, init=False, repr=False)
    _shown: dict[str, Any] = field(factory=dict, init=False, repr=False)
    _state: str = field(default="", init=False)

    def begin(self) -> None:
        """Subscribe to the hub; earlier events are not reported."""
        self._page = self.hub.join(self.look)
        if self._page is not None:
            self._page.take()

    def end(self) -> None:
        """Unsubscribe from the hub."""
        if self._page is not None:
            self.hub.leave(self._page)

    def look(self) -> None:
        """Report the pending events."""
        for event in self._page.take() if self._page is not None else ():
            self._heard(event)

    def _heard(self, event: Mapping[str, Any]) -> None:
        kind = event.get("kind")
        if kind == "message":
            self._message(event)
        elif kind == "typing" and event["author"]["app"]:
            self.tell({"typing": True})
        elif kind == "opened":
            self._enter(str(event["state"]))
        elif kind == "moves":
            for _, _, target, _ in event["moves"]:
                self._enter(str(target))

    def _enter(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self.tell({"state": state})

    def _message(self, event: Mapping[str, Any]) -> None:
        shown = (event["text"], event["embeds"])
        # Removing a Stop button edits a message without changing its content.
        if self._shown.get(event["id"]) == shown:
            return
        known = event["id"] in self._shown
        self._shown[event["id"]] = shown
        who = "bot" if event["author"]["app"] else "you"
        text = str(event["text"]).replace(f"<@{self.bot_id}>", "@minamo")
        told = {"from": who, "text": text, "embeds": event["embeds"]}
        self.tell({"edit" if known else "message": told})


def summary(turn: TurnResult) -> Json:
    """Return the outcome of a turn as JSON."""
    whole = turn.as_stream_result()
    return {
        "status": turn.status,
        "stop_reason": turn.stop_reason,
        "turn": list(turn.states),
        "streams": [list(one.states) for one in turn.results],
        "text": turn.accumulated_text,
        "thoughts": list(whole.thought_log),
        "details": whole.details_content,
        "tools": [one.call.name for one in turn.tool_history],
        "suppressed": dict(whole.suppressed),
        "additions": dict(whole.additions),
    }
