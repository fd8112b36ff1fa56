"""The product of the charts: a channel, its stream and two messages, with every outcome of a guard.

The charts are read from statecharts/; only the coupling between them is written here, as rules: a
rule holds for some values of some variables, and sets some of them.  `explore` walks through all
states breadth first; `to_promela` writes the same rules for the model checker Spin.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import define, evolve, field, frozen

from minamo.machine import Chart, load
from minamo.machine.syntax import build_guard, guard_names

STREAM, DELIVERY, CHANNEL = load("stream"), load("delivery"), load("channel")

OUTCOMES = tuple(state.id for state in STREAM.leaves if state.final)
SETTLED = tuple(state.id for state in DELIVERY.leaves if state.final)
NONE = "none"
INSIDE = {
    name: tuple(
        leaf.id for leaf in STREAM.leaves if name in [s.id for s in STREAM.lineage(leaf.id)]
    )
    for name in ("live", "closing")
}
# What a withdrawal does to a message, as delivery.yaml has it.
WITHDRAW = {"waiting": "not_sent", "calling": "unwanted", "reconciling": "unknown"}

MESSAGES = ("first", "second")
Value = str | int
VARIABLES: dict[str, tuple[Value, ...]] = {
    "stream": (NONE, *(leaf.id for leaf in STREAM.leaves)),
    **{name: (NONE, *(leaf.id for leaf in DELIVERY.leaves)) for name in MESSAGES},
    "channel": tuple(leaf.id for leaf in CHANNEL.leaves),
    "pending": (
        NONE,
        "recalled",
        "delivery_lost",
        "follow_up_requested",
        "killed",
        "stop_requested",
    ),
    "cause": (NONE, "follow_up", "other"),  # of the last withdrawal
    "waiting": (0, 1, 2),  # turns that wait for the channel
    "owed": (0, 1, 2, 3),  # turns that were submitted and have no answer
    "turns": (0, 1, 2, 3),  # how many more will be submitted
    "requests": (0, 1, 2),  # how many more stops, kills and follow-ups will come
    "running": (0, 1),  # whether the program has not been told to end
}
State = tuple[Value, ...]
_AT = {name: place for place, name in enumerate(VARIABLES)}


@frozen
class Rule:
    """One step: where it is possible, and what it sets, in order."""

    name: str
    where: tuple[tuple[str, frozenset[Value]], ...]
    sets: tuple[tuple[str, Value], ...] = ()
    changes: tuple[tuple[str, tuple[tuple[Value, Value], ...]], ...] = ()
    """Values that are mapped to others, such as counts that go down."""
    forbidden: str = ""
    """Why this must never be possible."""

    def enabled(self, state: State) -> bool:
        """Whether the step is possible."""
        return all(state[_AT[name]] in values for name, values in self.where)

    def apply(self, state: State) -> State:
        """The state after it."""
        after = list(state)
        for name, pairs in self.changes:
            after[_AT[name]] = dict(pairs).get(after[_AT[name]], after[_AT[name]])
        for name, value in self.sets:
            after[_AT[name]] = value
        return tuple(after)


@define
class Draft:
    """A rule in the making; alternatives split it."""

    name: str
    where: dict[str, frozenset[Value]] = field(factory=dict)
    sets: dict[str, Value] = field(factory=dict)
    changes: dict[str, dict[Value, Value]] = field(factory=dict)

    def when(self, **values: Iterable[Value] | Value) -> Draft:
        """The same, only where the variables have these values."""
        where = dict(self.where)
        for name, given in values.items():
            some = frozenset([given] if isinstance(given, str | int) else given)
            where[name] = where.get(name, frozenset(VARIABLES[name])) & some
        return evolve(self, where=where, sets=dict(self.sets), changes=dict(self.changes))

    def set(self, **values: Value) -> Draft:
        """The same, and the variables get these values."""
        return evolve(self, sets={**self.sets, **values})

    def map(self, **tables: dict[Value, Value]) -> Draft:
        """The same, and the variables' values are mapped."""
        return evolve(self, changes={**self.changes, **tables})

    @property
    def possible(self) -> bool:
        """Whether any state fits."""
        return all(self.where.values())

    def rule(self, forbidden: str = "") -> Rule:
        """The finished rule."""
        changes = tuple((name, tuple(table.items())) for name, table in self.changes.items())
        return Rule(
            self.name, tuple(self.where.items()), tuple(self.sets.items()), changes, forbidden
        )


def less(name: str) -> dict[str, dict[Value, Value]]:
    """The change of a count that goes down by one."""
    return {name: {at: at - 1 for at in VARIABLES[name] if isinstance(at, int) and at}}


def but(name: str, *values: Value) -> tuple[Value, ...]:
    """All values of a variable but these."""
    return tuple(value for value in VARIABLES[name] if value not in values)


Fork = Callable[[Draft], Iterator[Draft]]


def taken(chart: Chart, leaf: str, event: str, decide: dict[str, Fork], draft: Draft) -> Iterator[
    tuple[Draft, Any]
]:  # fmt: skip
    """Each row that *event* may take in *leaf*, or None, with where that is so."""
    rows = chart.rows_for(leaf, event)
    atoms = sorted({name for row in rows if row.guard for name in guard_names(row.guard)})
    for outcome in itertools.product((True, False), repeat=len(atoms)):
        truth = dict(zip(atoms, outcome, strict=True))
        drafts = [draft]
        for name, holds in truth.items():
            known = decide.get(name if holds else f"not {name}")
            if known is not None:
                drafts = [fork for each in drafts for fork in known(each)]
        resolve = {name: (lambda _, __, value=value: value) for name, value in truth.items()}
        row = next(
            (r for r in rows if not r.guard or build_guard(r.guard, resolve)(None, None)), None
        )
        yield from ((each, row) for each in drafts if each.possible)


# The stream.


def _put(draft: Draft) -> Iterator[Draft]:
    yield draft.when(first=NONE).set(first="waiting")
    yield draft.when(first=but("first", NONE), second=NONE).set(second="waiting")


def _put_or_not(draft: Draft) -> Iterator[Draft]:
    yield draft
    yield from _put(draft)


def _take_back(draft: Draft) -> Iterator[Draft]:
    yield draft.map(first=dict(WITHDRAW), second=dict(WITHDRAW))


def _withdraw(draft: Draft) -> Iterator[Draft]:
    """`recalled` follows if there was text to take back."""
    cause = "follow_up" if "follow_up_requested" in draft.name else "other"
    for back in _take_back(draft.set(cause=cause)):
        yield back.when(first="waiting").set(pending="recalled")
        yield back.when(first=but("first", "waiting"), second="waiting").set(pending="recalled")
        yield back.when(first=but("first", "waiting"), second=but("second", "waiting"))


def _shown(draft: Draft) -> Iterator[Draft]:
    yield draft.when(first="delivered")
    yield draft.when(first=but("first", "delivered"), second="delivered")


_STREAM_ACTIONS: dict[str, Fork] = {
    "hand_over": _put, "hand_complete": _put_or_not, "flush_rest": _put_or_not,
    "flush_cut_off": _put_or_not, "discard_rest": _take_back, "abandon": _take_back,
    "withdraw": _withdraw,
}  # fmt: skip
_STREAM_GUARDS: dict[str, Fork] = {
    "nothing_shown": lambda d: iter(
        [d.when(first=but("first", "delivered"), second=but("second", "delivered"))]
    ),
    "not nothing_shown": _shown,
    "for_follow_up": lambda d: iter([d.when(cause="follow_up")]),
    "not for_follow_up": lambda d: iter([d.when(cause=(NONE, "other"))]),
}


def _acted(draft: Draft, actions: Iterable[str]) -> Iterator[Draft]:
    drafts = [draft]
    for action in actions:
        if (effect := _STREAM_ACTIONS.get(action)) is not None:
            drafts = [fork for each in drafts for fork in effect(each)]
    yield from drafts


def stream_step(leaf: str, event: str, draft: Draft) -> Iterator[Draft]:
    """The stream hears *event* in *leaf*."""
    here = evolve(draft.when(stream=leaf), name=f"{draft.name} in {leaf}")
    for each, row in taken(STREAM, leaf, event, _STREAM_GUARDS, here):
        if row is None:
            assert STREAM.reason_ignored(leaf, event), f"{event} in {leaf} is forgotten"
            yield each
            continue
        entered = {} if row.target is None else {"stream": STREAM.leaf_of(row.target)}
        yield from _acted(each.set(**entered), row.actions)


def _at_once(leaf: str) -> Iterator[Draft]:
    """Rows without an event: a segment may be complete at any time.

    A transient state is left in the same step, so no other step comes between.
    """
    for row in STREAM.rows_at_once(leaf):
        target = STREAM.leaf_of(row.target or leaf)
        onward = STREAM.rows_at_once(target) if STREAM.states[target].transient else (row,)
        for last in onward:
            draft = Draft(f"at once in {leaf}").when(stream=leaf, pending=NONE)
            yield from _acted(draft.set(stream=STREAM.leaf_of(last.target or leaf)), row.actions)


FROM_PROVIDER = tuple(
    event for event in STREAM.events
    if event not in {"stop_requested", "follow_up_requested", "killed", "flushed", "delivery_lost",
                     "limit_reached", "recalled", "end_came"}
)  # fmt: skip
OVER: tuple[Value, ...] = (NONE, *SETTLED)


def stream_rules() -> Iterator[Draft]:
    """Whatever the stream can hear, from outside and from the other charts."""
    for leaf in (leaf.id for leaf in STREAM.leaves if not leaf.transient):
        yield from _at_once(leaf)
        free = Draft("").when(pending=NONE)
        for event in FROM_PROVIDER:
            if event in ("went_silent", "overran") and leaf not in INSIDE["live"]:
                continue  # the clocks only run while the provider is waited for
            yield from stream_step(leaf, event, evolve(free, name=event))
        for event in ("stop_requested", "follow_up_requested", "killed"):
            asked = evolve(free, name=event).when(requests=(1, 2)).map(**less("requests"))
            yield from stream_step(leaf, event, asked)
        yield from stream_step(leaf, "limit_reached", evolve(free, name="limit_reached"))
        if leaf in INSIDE["closing"]:
            done = evolve(free, name="flushed").when(first=OVER, second=OVER)
            yield from stream_step(leaf, "flushed", done)
        for event in but("pending", NONE):
            told = Draft(str(event)).when(pending=event).set(pending=NONE)
            yield from stream_step(leaf, str(event), told)


# The messages.

ENDED: tuple[Value, ...] = (NONE, "interrupting", "halting", *OUTCOMES)


def message_rules(name: str) -> Iterator[Draft | Rule]:
    """One message; the second waits until the first is over."""
    before = {"first": OVER} if name == "second" else {}
    for leaf in (leaf.id for leaf in DELIVERY.leaves if not leaf.final):
        for event in DELIVERY.events:
            draft = Draft(f"{name} {event} in {leaf}").when(pending=NONE, **{name: leaf})
            if event == "withdrawn":
                continue  # `WITHDRAW` has it
            if event == "gave_up":
                draft = draft.when(stream=INSIDE["closing"])
            if event == "turn_came":
                draft = draft.when(**before)
                if leaf == "waiting":
                    yield draft.when(stream=ENDED).rule("a call is begun after the end")
            for each, row in taken(DELIVERY, leaf, event, {}, draft):
                if row is None or row.target is None:
                    continue  # nothing that the model distinguishes
                target = DELIVERY.leaf_of(row.target)
                after = each.set(**{name: target})
                if target in ("refused", "unknown") or (
                    target == "not_sent" and leaf != "unwanted" and event != "gave_up"
                ):
                    after = after.set(pending="delivery_lost")
                elif target == "not_sent" and leaf == "unwanted":
                    after = after.set(pending="recalled")
                yield after


# The channel.

_ASKS = {
    "ask_follow_up": "follow_up_requested",
    "ask_finish": "stop_requested",
    "kill_turn": "killed",
}
_ANSWERS = ("refuse_busy", "refuse_full", "refuse_closing", "supersede_turn", "supersede_next",
            "end_unbegun", "kill_unbegun", "close_unbegun")  # fmt: skip


def _channel_acted(draft: Draft, actions: Iterable[str]) -> Iterator[Draft]:
    drafts = [draft]
    for action in actions:
        if action in _ANSWERS:
            drafts = [_down(each, "owed") for each in drafts]
        elif action in _ASKS:
            drafts = [each.set(pending=_ASKS[action]) for each in drafts]
        elif action in ("make_next", "enqueue"):
            more = {0: 1, 1: 2}
            # A turn that is superseded leaves its place to the new one.
            fresh = "supersede_next" not in actions
            drafts = [each.map(waiting=more) if fresh else each for each in drafts]
        elif action == "give_next":
            drafts = [each.map(**less("waiting")) for each in drafts]
        elif action == "drop":
            drafts = [_down(each.map(**less("waiting")), "owed") for each in drafts]
        elif action in ("kill_waiting", "close_waiting"):
            drafts = [fork for each in drafts for fork in _answer_all(each)]
    yield from drafts


def _down(draft: Draft, name: str, by: int = 1) -> Draft:
    known = draft.changes.get(name, {at: at for at in VARIABLES[name]})
    table = {at: max(0, int(value) - by) for at, value in known.items()}
    return draft.map(**{name: table})


def _answer_all(draft: Draft) -> Iterator[Draft]:
    for count in VARIABLES["waiting"]:
        yield _down(draft.when(waiting=count), "owed", int(count)).set(waiting=0)


def channel_rules() -> Iterator[Draft]:
    """Whatever the channel can hear."""
    guards: dict[str, Fork] = {
        "turn_waits": lambda d: iter([d.when(waiting=(1, 2))]),
        "not turn_waits": lambda d: iter([d.when(waiting=0)]),
        "has_room": lambda d: iter([d.when(waiting=(0, 1))]),
    }
    for leaf in (leaf.id for leaf in CHANNEL.leaves):
        for event in CHANNEL.events:
            draft = Draft(f"{event} in {leaf}").when(channel=leaf, pending=NONE)
            ended = dict.fromkeys(("stream", "cause", *MESSAGES), NONE)
            match event:
                case "submitted":
                    up: dict[Value, Value] = {0: 1, 1: 2, 2: 3}
                    draft = draft.when(turns=(1, 2, 3)).map(**less("turns"), owed=up)
                case "begun":
                    draft = draft.set(stream=STREAM.leaf_of(STREAM.initial))
                case "turn_ended":
                    draft = _down(draft.when(stream=OUTCOMES, first=OVER, second=OVER), "owed")
                    draft = draft.set(**ended)
                case "gave_up":
                    draft = draft.when(waiting=(1, 2))
                case "shut_down":
                    draft = draft.when(running=1).set(running=0)
                case _:
                    draft = draft.when(requests=(1, 2)).map(**less("requests"))
            for each, row in taken(CHANNEL, leaf, event, guards, draft):
                if row is None:
                    continue
                entered = {} if row.target is None else {"channel": CHANNEL.leaf_of(row.target)}
                yield from _channel_acted(each.set(**entered), row.actions)


def rules() -> tuple[Rule, ...]:
    """All steps of the product, each once."""
    drafts = itertools.chain(stream_rules(), *map(message_rules, MESSAGES), channel_rules())
    made = (each if isinstance(each, Rule) else each.rule() for each in drafts
            if isinstance(each, Rule) or each.possible)  # fmt: skip
    return tuple(dict.fromkeys(made))


def start(turns: int, requests: int) -> State:
    """A channel without a turn."""
    first = {"channel": CHANNEL.leaf_of(CHANNEL.initial), "turns": turns, "requests": requests}
    begin: dict[str, Value] = {name: values[0] for name, values in VARIABLES.items()}
    return tuple({**begin, "running": 1, **first}[name] for name in VARIABLES)


def is_end(state: State) -> bool:
    """Whether the program may rest here: the channel is silent and every turn has its answer."""
    value = dict(zip(VARIABLES, state, strict=True))
    silent = value["channel"] in ("idle", "closed") and value["stream"] == NONE
    return silent and not value["owed"] and not value["waiting"] and value["pending"] == NONE


@frozen
class Explored:
    """All states, and what is wrong with some."""

    states: int
    steps: int
    outcomes: frozenset[Value]
    receipts: frozenset[Value]
    problems: tuple[str, ...]


def explore(all_rules: Iterable[Rule], begin: State) -> Explored:
    """Walk through every state breadth first, and back from the ends."""
    by_place: dict[tuple[Value, Value], list[Rule]] = {}
    for rule in all_rules:
        where = dict(rule.where)
        for stream in where.get("stream", VARIABLES["stream"]):
            for pending in where.get("pending", VARIABLES["pending"]):
                by_place.setdefault((stream, pending), []).append(rule)
    seen, before, problems = {begin}, dict[State, list[State]](), list[str]()
    todo, steps = deque([begin]), 0
    at_stream, at_pending = _AT["stream"], _AT["pending"]
    while todo:
        state = todo.popleft()
        for rule in by_place.get((state[at_stream], state[at_pending]), ()):
            if not rule.enabled(state):
                continue
            if rule.forbidden:
                problems.append(f"{rule.forbidden}: {rule.name} at {state}")
                continue
            after = rule.apply(state)
            steps += 1
            problems += _changed(rule, state, after)
            if after != state:
                before.setdefault(after, []).append(state)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    ends = [state for state in seen if is_end(state)]
    reached, back = set(ends), deque(ends)
    while back:
        for state in before.get(back.popleft(), ()):
            if state not in reached:
                reached.add(state)
                back.append(state)
    problems += [f"no way out: {state}" for state in seen - reached]
    found = {name: frozenset(state[_AT[name]] for state in seen) for name in VARIABLES}
    return Explored(
        len(seen), steps, found["stream"] & set(OUTCOMES),
        frozenset(found["first"] & set(SETTLED)), tuple(problems),
    )  # fmt: skip


def _changed(rule: Rule, state: State, after: State) -> Iterator[str]:
    """An outcome and a receipt stay as they are until the turn is over."""
    if after[_AT["stream"]] == NONE:
        return
    for name, final in (("stream", OUTCOMES), *((message, SETTLED) for message in MESSAGES)):
        was, now = state[_AT[name]], after[_AT[name]]
        if was in final and now != was:
            yield f"{was} became {now}: {rule.name} at {state}"


# The same for Spin.


def to_promela(all_rules: Iterable[Rule], begin: State) -> str:
    """The rules as one process: every step is atomic, so Spin sees the same states."""
    number = {
        name: {value: at for at, value in enumerate(values)} for name, values in VARIABLES.items()
    }
    lines = [f"byte {name} = {number[name][value]};"
             for name, value in zip(VARIABLES, begin, strict=True)]  # fmt: skip
    lines += ["active proctype product() {", "  do"]
    for rule in all_rules:
        tests = []
        for name, values in rule.where:
            some = sorted(number[name][value] for value in values)
            if len(some) < len(VARIABLES[name]):
                tests.append("(" + " || ".join(f"{name} == {value}" for value in some) + ")")
        body = ["assert(false)"] if rule.forbidden else []
        if not rule.forbidden:
            for name, pairs in rule.changes:
                moved = [(number[name][a], number[name][b]) for a, b in pairs if a != b]
                tail = "".join(f" :: {name} == {a} -> {name} = {b}" for a, b in moved)
                body += [f"if{tail} :: else fi"] if moved else []
            body += [f"{name} = {number[name][value]}" for name, value in rule.sets]
        lines.append(f"  :: d_step {{ {' && '.join(tests) or 'true'} -> {'; '.join(body) or 'skip'} }}"
                     f" /* {rule.name} */")  # fmt: skip
    # Where the program may rest; anywhere else, a state without a step is an error to Spin.
    silent = " || ".join(f"channel == {number['channel'][value]}" for value in ("idle", "closed"))
    rest = f"({silent}) && stream == 0 && owed == 0 && waiting == 0 && pending == 0"
    return "\n".join([*lines, f"  :: d_step {{ {rest} -> skip }}", "  od", "}", ""])
