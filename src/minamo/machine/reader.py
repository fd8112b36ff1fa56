"""Reader of chart documents; an invalid one raises a one-line error with the position.

The document is walked node by node, because a loaded dictionary has lost what matters here:
line numbers and duplicate keys.  Scalars are taken as they are spelt, so a key `on` remains a
string instead of becoming True.  Also the lookup of minamo's own charts by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from attrs import define, field

from minamo.errors import ChartError
from minamo.machine.model import DONE_PREFIX, ENTRY, Chart, Clock, Row, State
from minamo.machine.syntax import BadGuard, Nodes, guard_names, hint, line, parse_guard


def check_names(chart: Chart) -> None:
    """Raise for the first unknown event, target, guard or action, and for unused ones."""
    used: dict[str, set[str]] = {
        "event": set(), "guard": set(), "action": set(), "clock": set(),
    }  # fmt: skip
    for clock in chart.clocks.values():
        _known(chart, "event", clock.event, chart.events, line=clock.line, state="")
    for state in chart.states.values():
        for event in state.ignored:
            _known(chart, "event", event, chart.events, state=state.id, line=state.line)
        for name in state.clocks:
            _known(chart, "clock", name, chart.clocks, state=state.id, line=state.line)
            used["clock"].add(name)
        for action in (*state.enter, *state.exit):
            _known(chart, "action", action, chart.actions, state=state.id, line=state.line)
            used["action"].add(action)
        for row in state.rows:
            _check_row(chart, row)
            used["event"].update(row.events)
            used["action"].update(row.actions)
            used["guard"].update(guard_names(row.guard) if row.guard else ())
    _all_used(chart, "event", chart.events, used["event"])
    _all_used(chart, "guard", chart.guards, used["guard"])
    _all_used(chart, "action", chart.actions, used["action"])
    _all_used(chart, "clock", chart.clocks, used["clock"])


def _check_row(chart: Chart, row: Row) -> None:
    trigger = " ".join(row.events)
    place = {"state": row.source, "event": trigger}
    for event in row.events:
        if event.startswith(DONE_PREFIX):
            _check_done(chart, row, event)
        else:
            _known(chart, "event", event, chart.events, line=row.line, **place)
    if len(set(row.events)) != len(row.events):
        raise ChartError("the row names an event twice", file=chart.file, line=row.line, **place)
    if row.target is not None:
        _known(chart, "target", row.target, chart.states, line=row.line, **place)
    for action in row.actions:
        _known(chart, "action", action, chart.actions, line=row.line, **place)
    for guard in guard_names(row.guard) if row.guard else ():
        _known(chart, "guard", guard, chart.guards, line=row.line, **place)


def _check_done(chart: Chart, row: Row, event: str) -> None:
    parent = chart.states.get(event.removeprefix(DONE_PREFIX), State(""))
    if not any(chart.states[child].final for child in parent.children):
        raise ChartError(
            "done.state needs the id of a compound state with a final child",
            file=chart.file,
            line=row.line,
            state=row.source,
            event=event,
        )


def _known(
    chart: Chart,
    kind: str,
    name: str,
    known: Mapping[str, object],
    *,
    line: int,
    state: str,
    event: str = "",
) -> None:
    if name not in known:
        raise ChartError(
            f"unknown {kind} {name!r}{hint(name, known)}",
            file=chart.file,
            line=line,
            state=state,
            event=event,
        )


def _all_used(chart: Chart, kind: str, declared: Iterable[str], used: set[str]) -> None:
    for name in declared:
        if name not in used:
            raise ChartError(
                f"{kind} {name!r} is declared and never used; use it in a state or remove it",
                file=chart.file,
            )


# python-statemachine matches event names by dotted prefix: a row on `done` would also fire
# on its own `done.state.x`, and one on `error` on its `error.execution`.
_TAKEN_EVENTS = frozenset({"done", "error"})

_CHART_KEYS = ("name", "about", "events", "guards", "actions", "clocks", "states")
_CLOCK_KEYS = ("event", "length", "since", "until", "about")
_STATE_KEYS = (
    "about", "initial", "final", "clocks", "enter", "exit", "transitions", "ignored", "transient",
    "states",
)  # fmt: skip
_ROW_KEYS = ("event", "target", "cond", "on", "about")
# Features of python-statemachine that we refuse, with the alternative.
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
    "delay": "declare a clock under `clocks` and list it in the state",
}
# libyaml reads a chart ten times as fast; PyYAML can be installed without it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, file: str) -> Chart:
    """Return the chart of the document *text*; *file* is the name used in errors."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        marked = error if isinstance(error, yaml.MarkedYAMLError) else yaml.MarkedYAMLError()
        mark, problem = marked.problem_mark, marked.problem or "unreadable"
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
            clocks=self.clocks(parts["clocks"]) if "clocks" in parts else {},
        )
        check_names(chart)
        return chart

    def clocks(self, node: yaml.Node) -> dict[str, Clock]:
        found: dict[str, Clock] = {}
        for name, body in self.nodes.entries(node, "the clocks"):
            self.nodes.name(body, name, "a clock")
            parts = self.nodes.mapping(body, _CLOCK_KEYS, "a clock")
            for key in ("event", "length", "about"):
                if key not in parts:
                    raise self.nodes.error(body, f"the clock {name!r} has no {key!r}; add it")
            found[name] = Clock(
                name=name,
                event=self.nodes.scalar(parts["event"]),
                length=self.nodes.scalar(parts["length"]),
                since=self.nodes.words(parts.get("since"), "") or (ENTRY,),
                until=self.nodes.scalar(parts["until"]) if "until" in parts else "",
                about=self.nodes.prose(parts, "about"),
                line=line(body),
            )
        return found

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
        """Read one state into `states`; return whether it is marked as initial."""
        parts = self.nodes.mapping(node, _STATE_KEYS, "a state", state=state_id)
        self.states[state_id] = State(state_id)  # reserves its position: parents come first
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
            clocks=self.nodes.words(parts.get("clocks"), state_id),
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
                parse_guard(guard)
            except BadGuard as error:
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


_PACKAGE = Path(__file__).resolve().parent.parent


def home() -> Path:
    """Return the folder of minamo's own charts.

    A wheel has them inside the package.  A checkout, also as an editable install, has them only
    in its top folder.
    """
    packed = _PACKAGE / "statecharts"
    return packed if packed.is_dir() else _PACKAGE.parent.parent / "statecharts"


def chart_names(folder: Path | None = None) -> list[str]:
    """Return the names of the charts in *folder*, sorted."""
    return sorted(path.stem for path in (folder or home()).glob("*.yaml"))


def load(source: str | Path) -> Chart:
    """Read a chart: one of minamo's by its name, or any YAML file by its path.

    Raises:
        ChartError: naming the file, the line and what to do.
    """
    path = Path(source)
    if isinstance(source, str) and path.suffix not in (".yaml", ".yml"):
        path = home() / f"{source}.yaml"
        if not path.is_file():
            known = hint(source, chart_names())
            raise ChartError(f"there is no chart {source!r}{known} (a path ends in .yaml)")
    try:
        return read(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError:
        raise ChartError("not UTF-8 text; save it as UTF-8", file=path.name) from None
    except OSError as error:
        raise ChartError(f"cannot be read: {error.strerror}", file=path.name) from None
