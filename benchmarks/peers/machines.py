"""State machine libraries, each with the four states and rows that the measurement drives."""

from __future__ import annotations

import time
from typing import Any


class Actions:
    """The actions and guards: empty, so that the machine is measured."""

    def take_text(self, *_: object, **__: object) -> None:
        """Do nothing."""

    open_thought = close_thought = hand_complete = take_text

    def outermost(self, *_: object, **__: object) -> bool:
        """Return True."""
        return True

    def segment_ready(self, *_: object, **__: object) -> bool:
        """Return False."""
        return False


def _transitions(observers: int) -> Any:
    from transitions import Machine

    model: Any = Actions()
    seen = [lambda *_: None] * observers
    machine = Machine(model, states=["opening", "streaming", "in_think", "handing"],
                      initial="opening", auto_transitions=False,
                      after_state_change=seen)  # fmt: skip
    machine.add_transition("text", "opening", "streaming", before="take_text")
    machine.add_transition("text", "streaming", None, before="take_text", after="segment_ready")
    machine.add_transition(
        "think_opened", "streaming", "in_think", before=["hand_complete", "open_thought"]
    )
    machine.add_transition(
        "think_closed", "in_think", "streaming", conditions="outermost", before="close_thought"
    )
    return model.trigger


def _statemachine(observers: int) -> Any:
    from statemachine import State, StateChart

    class Chart(StateChart):
        opening = State(initial=True)
        streaming = State()
        in_think = State()
        handing = State(final=True)
        text = opening.to(streaming, on="take_text") | streaming.to(
            streaming, internal=True, on="take_text"
        )
        think_opened = streaming.to(in_think, on=["hand_complete", "open_thought"])
        think_closed = in_think.to(streaming, cond="outermost", on="close_thought")
        handed = streaming.to(handing, cond="segment_ready")

    class Seen:
        def after_transition(self) -> None:
            """Do nothing."""

    return Chart(model=Actions(), listeners=[Seen() for _ in range(observers)]).send


_SISMIC = """
statechart:
  name: stream
  root state:
    name: root
    initial: opening
    states:
      - name: opening
        transitions: [{event: text, target: streaming, action: take_text()}]
      - name: streaming
        transitions:
          - {event: text, action: take_text()}
          - {event: think_opened, target: in_think, action: open_thought()}
      - name: in_think
        transitions:
          - {event: think_closed, target: streaming, guard: outermost(), action: close_thought()}
"""


def _sismic(observers: int) -> Any:
    from sismic.interpreter import Interpreter
    from sismic.io import import_from_yaml

    actions = Actions()
    context = {name: getattr(actions, name) for name in dir(actions) if not name.startswith("_")}
    machine = Interpreter(import_from_yaml(_SISMIC), initial_context=context)
    for _ in range(observers):
        machine.attach(lambda event: None)
    machine.execute()

    def send(event: str) -> None:
        machine.queue(event)
        machine.execute()

    return send


_MAKERS = {
    "transitions": _transitions,
    "python-statemachine": _statemachine,
    "sismic": _sismic,
}


def step(events: list[str], count: int, peer: str, observers: int = 0) -> float:
    """Run the machine; return seconds per event."""
    send = _MAKERS[peer](observers)
    send("text")
    begin = time.process_time()
    for _ in range(count):
        for event in events:
            send(event)
    return (time.process_time() - begin) / (count * len(events))


def instances(count: int, peer: str) -> float:
    """Make so many machines; return the seconds for one."""
    begin = time.process_time()
    for _ in range(count):
        _MAKERS[peer](0)
    return (time.process_time() - begin) / count
