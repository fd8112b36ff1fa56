"""Read a chart document, or say in one line what is wrong with it and where.

The document is walked node by node, because a loaded dictionary has forgotten what matters
here: lines, and keys written twice.  Scalars are taken as they are spelt, so a key `on`
stays the word it is instead of becoming True.
"""

from __future__ import annotations

import yaml
from attrs import define, field

from minamo.errors import ChartError
from minamo.machine import guards
from minamo.machine.chart import Chart, Row, State
from minamo.machine.names import check_names
from minamo.machine.nodes import Nodes, line

# python-statemachine matches event names by dotted prefix: a row on `done` would also fire
# on its own `done.state.x`, and one on `error` on its `error.execution`.
_TAKEN_EVENTS = frozenset({"done", "error"})

_CHART_KEYS = ("name", "about", "events", "guards", "actions", "states")
_STATE_KEYS = (
    "about", "initial", "final", "enter", "exit", "transitions", "ignored", "transient", "states",
)  # fmt: skip
_ROW_KEYS = ("event", "target", "cond", "on", "about")
# What python-statemachine could do and we refuse, with the way out.
_REFUSED = {
    "parallel": "a machine rests in one leaf; use two charts",
    "history": "target the state itself, with a guard",
    "invoke": "let an action ask for it and send the answer as an event",
    "donedata": "let an entry action keep the data",
    "datamodel": "keep data in the actions class",
    "internal": "leave out the target: a targetless row neither exits nor enters",
    "validators": "use a guard",
    "unless": "write `cond: not ...`",
    "before": "use `on`",
    "after": "use `on`, or `enter` of the target",
    "delay": "a clock belongs to whoever sends the event",
}


def read(text: str, file: str) -> Chart:
    """Make a chart of the document *text*; *file* is the name used in errors."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "unreadable"
        raise ChartError(
            f"not YAML: {problem}; check quotes, colons and indentation there",
            file=file,
            line=mark.line + 1 if mark else 1,
        ) from None
    if root is None:
        raise ChartError("the document is empty; a chart has name, events, states", file=file)
    return _Reader(Nodes(file, _REFUSED)).chart(root)


@define
class _Reader:
    nodes: Nodes
    states: dict[str, State] = field(factory=dict)
    rows: int = 0

    def chart(self, root: yaml.Node) -> Chart:
        parts = self.nodes.mapping(root, _CHART_KEYS, "the chart")
        for key in ("name", "states", "events"):
            if key not in parts:
                raise self.nodes.error(root, f"the key {key!r} is missing; every chart has it")
        events = self.nodes.glossary(parts["events"], "event")
        for name, node in self.nodes.entries(parts["events"]):
            if name in _TAKEN_EVENTS:
                raise self.nodes.error(
                    node,
                    "this name belongs to the statechart library; "
                    "say what happened instead, such as `provider_finished`",
                    event=name,
                )
        initial = self.children(parts["states"], None)
        chart = Chart(
            name=self.nodes.scalar(parts["name"]),
            file=self.nodes.file,
            about=self.nodes.prose(parts, "about"),
            events=events,
            guards=self.nodes.glossary(parts["guards"], "guard") if "guards" in parts else {},
            actions=self.nodes.glossary(parts["actions"], "action") if "actions" in parts else {},
            states=self.states,
            initial=initial[0],
        )
        check_names(chart)
        return chart

    def children(self, node: yaml.Node, parent: str | None) -> tuple[str, tuple[str, ...]]:
        """Read the states in *node*; return the initial one and all of them, in order."""
        ids: list[str] = []
        initial = ""
        states = self.nodes.entries(node, "the states", state=parent or "")
        lines = self.nodes.lines(node)
        for state_id, body in states:
            self.nodes.name(body, state_id, "a state", state=state_id)
            if state_id in self.states:
                raise self.nodes.error(
                    body, "this id is used twice; ids are unique in a chart", state=state_id
                )
            ids.append(state_id)
            if self.state(state_id, body, parent, lines[state_id]):
                if initial:
                    raise self.nodes.error(
                        body, f"a second initial state beside {initial!r}", state=state_id
                    )
                initial = state_id
        if not ids:
            raise self.nodes.error(node, "no states in here", state=parent or "")
        return initial or ids[0], tuple(ids)

    def state(self, state_id: str, node: yaml.Node, parent: str | None, at: int) -> bool:
        """Read one state into `states`; tell whether it calls itself initial."""
        parts = self.nodes.mapping(node, _STATE_KEYS, "a state", state=state_id)
        self.states[state_id] = State(state_id)  # the place in the order: parents come first
        rows = tuple(
            self.row(item, state_id)
            for item in self.nodes.items(parts.get("transitions"), state_id)
        )
        initial: str | None = None
        children: tuple[str, ...] = ()
        final = self.nodes.flag(parts, "final", state_id)
        if "states" in parts:
            initial, children = self.children(parts["states"], state_id)
        if final and (children or rows):
            raise self.nodes.error(
                node, "a final state has neither children nor transitions", state=state_id
            )
        if "transient" in parts and children:
            raise self.nodes.error(node, "only a leaf can be transient", state=state_id)
        self.states[state_id] = State(
            id=state_id,
            parent=parent,
            children=children,
            initial=initial,
            final=final,
            about=self.nodes.prose(parts, "about"),
            enter=self.nodes.words(parts.get("enter"), state_id),
            exit=self.nodes.words(parts.get("exit"), state_id),
            rows=rows,
            ignored=self.nodes.glossary(parts["ignored"], "ignored event", state_id)
            if "ignored" in parts
            else {},
            transient=self.nodes.prose(parts, "transient"),
            line=at,
        )
        return self.nodes.flag(parts, "initial", state_id)

    def row(self, node: yaml.Node, source: str) -> Row:
        parts = self.nodes.mapping(node, _ROW_KEYS, "a transition", state=source)
        events = self.nodes.words(parts.get("event"), source)
        target = self.nodes.scalar(parts["target"]) if "target" in parts else None
        guard = self.nodes.scalar(parts["cond"]) if "cond" in parts else ""
        if guard:
            try:
                guards.parse(guard)
            except guards.BadGuard as error:
                raise self.nodes.error(
                    parts["cond"], f"guard {error}", state=source, event=" ".join(events)
                ) from None
        if not events and target is None:
            raise self.nodes.error(
                node,
                "a row needs an event or a target; with neither it would run for ever",
                state=source,
            )
        row = Row(
            index=self.rows,
            source=source,
            events=events,
            guard=guard,
            actions=self.nodes.words(parts.get("on"), source),
            target=target,
            about=self.nodes.prose(parts, "about"),
            line=line(node),
        )
        self.rows += 1
        return row
