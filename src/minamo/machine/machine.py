"""A running chart: one current leaf, one event queue, and `send`.

Run to completion: an event that an action sends waits until the current step is over.  The
order inside a step is exit actions from the inside out, the row's own, then entry actions from
the outside in.  After each step the eventless rows are tried, then done.state, then the queue.
Also the clocks of a machine, which the chart declares.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minamo.errors import Stuck, UnknownEvent
from minamo.machine.compiler import CompiledTransition, Node, Table
from minamo.machine.model import ENTRY, Chart, Clock, Row

# The longest legitimate chain, from entry to rest, is a handful of steps.  A chart that needs
# more than this for one event is in a loop.
STEPS_MAX = 1_000

# An error can interrupt a chain of eventless rows; the next event then finishes it first.
_RESTING, _STEPPING, _UNSETTLED = range(3)


class TransitionRecord(NamedTuple):
    """The record passed to observers: one row taken, or an event that changed nothing."""

    event: str
    """Empty for an eventless row."""
    payload: object
    source: str
    target: str
    row: Row | None
    """None when the event was ignored."""


Observer = Callable[[TransitionRecord], object]
_new_tuple = tuple.__new__


class Machine:
    """The running instance of a compiled chart.

    `actions` is an instance of the class the table was compiled for; its methods are called
    with the payload of the event, or None for an eventless row.  `watch` observes every step after
    the first entry.
    """

    __slots__ = ("__weakref__", "_mode", "_node", "_observers", "_path_max", "_queue", "actions",
                 "path", "state", "table")  # fmt: skip

    def __init__(
        self,
        table: Table,
        actions: Any,
        *,
        path: list[str] | None = None,
        path_max: int = STEPS_MAX,
        watch: Observer | None = None,
    ) -> None:
        self.table: Table = table
        self.actions: Any = actions
        self.path: list[str] | None = path
        """The leaves entered so far, in order; None unless the caller passed a list."""
        self._path_max = path_max
        self._node = table.initial
        self.state: str = table.initial.id
        """The id of the leaf the machine is in; only the machine itself sets it."""
        self._observers: tuple[Observer, ...] = ()
        self._queue: deque[tuple[str, object]] | None = None
        self._mode = _STEPPING
        for act in table.enter:
            act(actions, None)
        if path is not None:
            path.append(self._node.id)
        self._settle(self._node)
        if self._queue:
            self._drain(self._queue)
        self._mode = _RESTING
        if watch is not None:
            self._observers = (watch,)

    @property
    def ended(self) -> bool:
        """Whether the current leaf is final."""
        return self._node.final

    def __repr__(self) -> str:
        return f"<Machine {self.table.chart.name} in {self._node.id}>"

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Call *observer* after every step; return a function that unsubscribes it."""
        self._observers = (*self._observers, observer)

        def end() -> None:
            self._observers = tuple(kept for kept in self._observers if kept is not observer)

        return end

    def send(self, event: str, payload: object = None) -> None:
        """Process *event*; from inside an action, queue it until the current step is over.

        An exception from an action or guard reaches the caller.  The machine is then in the
        state it had before that step, the queue is empty, and the machine remains usable.
        """
        mode = self._mode
        if mode == _STEPPING:
            if self._queue is None:
                self._queue = deque()
            self._queue.append((event, payload))
            return
        self._mode = _STEPPING
        try:
            if mode:  # unsettled
                self._settle(None)
            self._happen(event, payload)
            if self._queue:
                self._drain(self._queue)
        except BaseException:
            self._mode = _UNSETTLED
            if self._queue:
                self._queue.clear()
            raise
        self._mode = _RESTING

    def _happen(self, event: str, payload: object) -> None:
        """Take the first row for *event* whose guard holds, and all eventless steps after it."""
        node = self._node
        if event in node.on:
            actions = self.actions
            for way in node.on[event]:
                guard = way.guard
                if guard is None or guard(actions, payload):
                    # As `_take` does, without its call: nearly every event takes one row.
                    for act in way.before:
                        act(actions, payload)
                    source, target = node, way.target
                    if target is not None:
                        node = self._node = target
                        self.state = target.id
                        if way.after or self.path is not None:
                            self._enter(way, target, source, payload)
                    if self._observers:
                        self._tell(event, payload, source, way.row)
                    if node.done:
                        self._settle(way.target)
                        return
                    for next_way in node.at_once:
                        # The guard nearly always fails: plain text seldom completes a segment.
                        guard = next_way.guard
                        if guard is None or guard(actions, None):
                            self._settle(None)
                            return
                    return
        elif event not in self.table.chart.events:
            known = ", ".join(self.table.chart.events)
            raise UnknownEvent(f"{event!r} is no event of {self.table.chart.name}: {known}")
        if self._observers:
            self._tell(event, payload, self._node, None)

    def _take(self, way: CompiledTransition, event: str, payload: object) -> None:
        for act in way.before:
            act(self.actions, payload)
        source, target = self._node, way.target
        if target is not None:
            self._node, self.state = target, target.id
            self._enter(way, target, source, payload)
        if self._observers:
            self._tell(event, payload, source, way.row)

    def _enter(self, way: CompiledTransition, target: Node, source: Node, payload: object) -> None:
        """Call the entry actions of *target*; if one raises, be in *source* as before."""
        try:
            for act in way.after:
                act(self.actions, payload)
        except BaseException:
            self._node, self.state = source, source.id
            raise
        if self.path is not None:
            self._remember(self.path, target.id)

    def _settle(self, entered: Node | None) -> None:
        """Take eventless rows, then done.state events, until no row can be taken."""
        done: list[str] = []
        for _ in range(STEPS_MAX):
            if entered is not None and entered.done:
                done.append(entered.done)
            event = ""
            way = self._open(self._node.at_once)
            while way is None and done:
                event = done.pop(0)
                way = self._open(self._node.on.get(event, ()))
            if way is None:
                return
            self._take(way, event, None)
            entered = way.target
        raise Stuck(
            f"{self.table.chart.name} took {STEPS_MAX} steps without an event, "
            f"last in {self._node.id!r}: two eventless rows lead to each other"
        )

    def _open(self, ways: tuple[CompiledTransition, ...]) -> CompiledTransition | None:
        for way in ways:
            if way.guard is None or way.guard(self.actions, None):
                return way
        return None

    def _drain(self, queue: deque[tuple[str, object]]) -> None:
        for _ in range(STEPS_MAX):
            if not queue:
                return
            self._happen(*queue.popleft())
        raise Stuck(f"actions of {self.table.chart.name} sent {STEPS_MAX} events in a row")

    def _remember(self, path: list[str], leaf: str) -> None:
        if path[-1] == leaf:
            return
        # Of a very long path, the beginning and the end are the useful parts.
        if len(path) >= self._path_max:
            del path[self._path_max // 2]
        path.append(leaf)

    def _tell(self, event: str, payload: object, source: Node, row: Row | None) -> None:
        # As `TransitionRecord(…)` does, in half the time.
        fields = event, payload, source.id, self._node.id, row
        taken = _new_tuple(TransitionRecord, fields)
        for observer in self._observers:
            observer(taken)


class RunningClocks:
    """The clocks of one machine: which of them run, and which runs out first.

    It reads no time: the caller passes it, in seconds, and raises the event of the clock that has
    run out.  A state that is left in the step that enters it does not stop a clock.
    """

    __slots__ = ("_chart", "_entered", "_heard", "_lengths", "_paused", "_running", "_state")

    def __init__(self, chart: Chart, lengths: Mapping[str, float], state: str, now: float) -> None:
        self._chart = chart
        self._lengths = lengths
        self._state = ""
        self._running: tuple[Clock, ...] = ()
        self._entered: dict[str, float] = {}
        self._heard: dict[str, float] = {}
        self._paused: float | None = None
        self.moved(state, now)

    def moved(self, state: str, now: float) -> None:
        """Record that the machine is in *state*; clocks that run there and did not, start."""
        if state == self._state:
            return
        before, self._state = self._running, state
        self._running = self._chart.clocks_in[state]
        for clock in self._running:
            if clock not in before:
                self._entered[clock.name] = now

    def heard(self, signal: str, now: float, state: str = "") -> None:
        """Record *signal*: it starts clocks that name it in `since`, ends those in `until`.

        With *state*, record also that the machine is in it now, as `moved` does.
        """
        if self._paused is not None:
            now = self._paused  # `resume` will add the elapsed time
        if state and state != self._state:
            self.moved(state, now)
        self._heard[signal] = now

    def pause(self, now: float) -> None:
        """Count no time from now on, until `resume`."""
        self._paused = now

    def resume(self, now: float) -> None:
        """Count time again; every deadline moves by the length of the pause."""
        if self._paused is not None:
            self.shift(now - self._paused)
            self._paused = None

    def shift(self, seconds: float) -> None:
        """Leave *seconds* out, such as a pause that no clock counts."""
        for times in (self._entered, self._heard):
            for name in times:
                times[name] += seconds

    def first(self) -> tuple[str, float]:
        """Return the clock that runs out first, and when; no name if none runs."""
        name, deadline = "", math.inf
        for clock in self._running:
            at = self._started(clock) + self._lengths[clock.name]
            if at < deadline:
                name, deadline = clock.name, at
        return name, deadline

    def _started(self, clock: Clock) -> float:
        """Return when *clock* was last started; infinity if it does not run."""
        if clock.until in self._heard:
            return math.inf
        times = [self._entered[clock.name]] if ENTRY in clock.since else []
        times += [self._heard[signal] for signal in clock.since if signal in self._heard]
        return max(times, default=math.inf)
