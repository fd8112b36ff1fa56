"""The chart: the content of a YAML document as plain frozen data.

Nothing here runs.  The reader creates these records, and everything else (the compiler's
checks, `verify`, `paths`, the pictures) queries them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

DONE_PREFIX = "done.state."
ENTRY = "entry"
"""In a clock's `since`: entering the first of the states that list it."""


@frozen(slots=True)
class Row:
    """One transition as written: from `source`, on any of `events`, if `guard` holds."""

    index: int
    """Its position in the document, counted over the whole chart; the row's identity."""
    source: str
    events: tuple[str, ...]
    """Empty for an eventless row, which is taken immediately when its guard holds."""
    guard: str = ""
    actions: tuple[str, ...] = ()
    target: str | None = None
    """None for a targetless row: the actions run and the state stays."""
    about: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        """Short name for messages and coverage reports."""
        trigger = "|".join(self.events) or "(at once)"
        guard = f" [{self.guard}]" if self.guard else ""
        return f"{self.source}: {trigger}{guard} -> {self.target or self.source}"


@frozen(slots=True)
class Clock:
    """One clock as declared; the states that list it say where it runs."""

    name: str
    event: str
    """The event raised when it runs out."""
    length: str
    """The setting that holds its length."""
    since: tuple[str, ...] = (ENTRY,)
    """What starts it, and starts it again."""
    until: str = ""
    """What ends it for good; empty if only leaving its states does."""
    about: str = ""
    line: int = 0


@frozen(slots=True)
class State:
    """One state, compound if it has children."""

    id: str
    parent: str | None = None
    children: tuple[str, ...] = ()
    initial: str | None = None
    """The child entered by default; None for a leaf."""
    final: bool = False
    about: str = ""
    enter: tuple[str, ...] = ()
    exit: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    ignored: Mapping[str, str] = field(factory=dict)
    clocks: tuple[str, ...] = ()
    """The clocks that run in this state and in its children."""
    transient: str = ""
    """Why the state is left in the step that enters it; empty if it is not."""
    line: int = 0


@frozen(slots=True)
class Chart:
    """A whole chart.  `states` is in document order, parents before children."""

    name: str
    file: str
    about: str
    events: Mapping[str, str]
    guards: Mapping[str, str]
    actions: Mapping[str, str]
    states: Mapping[str, State]
    initial: str
    clocks: Mapping[str, Clock] = field(factory=dict)
    clocks_in: Mapping[str, tuple[Clock, ...]] = field(init=False, eq=False, repr=False)
    """The clocks that run in each leaf, in the order they are declared."""

    @clocks_in.default
    def _clocks_in(self) -> Mapping[str, tuple[Clock, ...]]:
        found = {}
        for leaf in self.leaves:
            listed = {name for state in self.lineage(leaf.id) for name in state.clocks}
            running = [clock for clock in self.clocks.values() if clock.name in listed]
            found[leaf.id] = tuple(running)
        return found

    @property
    def top(self) -> tuple[State, ...]:
        """The states without a parent."""
        return tuple(state for state in self.states.values() if state.parent is None)

    @property
    def leaves(self) -> tuple[State, ...]:
        """The states a machine can rest in, in document order."""
        return tuple(state for state in self.states.values() if not state.children)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every row, in document order."""
        return tuple(row for state in self.states.values() for row in state.rows)

    def lineage(self, state_id: str) -> Iterator[State]:
        """Yield the state itself, then its parent, and so on outwards."""
        at: str | None = state_id
        while at is not None:
            state = self.states[at]
            yield state
            at = state.parent

    def leaf_of(self, state_id: str) -> str:
        """Return the leaf that is entered when *state_id* is the target."""
        state = self.states[state_id]
        while state.initial is not None:
            state = self.states[state.initial]
        return state.id

    def rows_for(self, leaf: str, event: str) -> tuple[Row, ...]:
        """Return the rows tried for *event* in *leaf*: innermost first, then as written."""
        return tuple(
            row for state in self.lineage(leaf) for row in state.rows if event in row.events
        )

    def rows_at_once(self, leaf: str) -> tuple[Row, ...]:
        """Return the eventless rows of *leaf* and its ancestors, in the order they are tried."""
        return tuple(row for state in self.lineage(leaf) for row in state.rows if not row.events)

    def reason_ignored(self, leaf: str, event: str) -> str:
        """Return why *event* does nothing in *leaf*, or an empty string."""
        for state in self.lineage(leaf):
            if state.transient:
                return state.transient
            if event in state.ignored:
                return state.ignored[event]
        return ""

    def handles(self, leaf: str, event: str) -> bool:
        """Return whether there is a row for *event* in *leaf*."""
        return bool(self.rows_for(leaf, event))
