"""What a soak came to: the figures, their limits, and the table, the JSON and the picture of them."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from attrs import define, field

from benchmarks.plots import Lines, picture
from promises.run import circumstances, commit_now
from soak.judge import KINDS, Problem, slope
from soak.pipes import ROOT
from soak.plans import Outage, Reply
from soak.steps import Step

PAGE = ROOT / "docs" / "promises.md"
PICTURE = ROOT / "docs" / "pictures" / "soak.svg"
BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
LAG_MS = 50.0
#: A process tries Redis again every 1 s at most, and may take as long to connect.
RECONNECTED_S = 2.5
#: Memory is judged behind the warm-up, in which caches fill.
WARM_UP_S = 60.0
#: Below this length the slope of memory says nothing.
JUDGED_S = 150.0
#: A leak of 1 KiB per reply, at 8 replies per second, is 0.5 MiB a minute.
GROWTH_MIB = 0.5
"""The most that a process may grow per minute."""


class Sample(NamedTuple):
    """One second of a shard."""

    shard: int
    at: float
    memory_mib: float
    late_ms: list[float]
    own_ms: list[float]
    """The part of each delay in which the process itself was at work, in one or many steps."""
    step: Step
    """The longest step of this second."""


@define
class Run:
    """One soak: how it was meant, and what was seen."""

    seed: int
    streams: int
    seconds: float
    began_at: float = 0.0
    took_s: float = 0.0
    load: float = 0.0
    """The machine's load average before it began."""
    replies: dict[int, Reply] = field(factory=dict)
    samples: list[Sample] = field(factory=list)
    outages: list[Outage] = field(factory=list)
    errors: list[str] = field(factory=list)
    problems: list[Problem] = field(factory=list)
    messages: int = 0
    calls: int = 0
    limited: int = 0
    """Calls that Discord answered with 429 although no fault was planned."""
    faults: Counter[str] = field(factory=Counter)
    cpu_s: dict[str, float] = field(factory=dict)
    tasks_left: int = 0
    open_requests: int = 0

    # Figures.

    @property
    def statuses(self) -> Counter[str]:
        return Counter(reply.status or "no result" for reply in self.replies.values())

    @property
    def shards(self) -> list[int]:
        return sorted({sample.shard for sample in self.samples})

    def late_ms(self, shard: int | None = None) -> list[float]:
        """All delays of the event loop, sorted."""
        of = [s.late_ms for s in self.samples if shard is None or s.shard == shard]
        return sorted(late for second in of for late in second)

    def own_ms(self, shard: int) -> list[float]:
        """All delays that the process itself made, sorted."""
        return sorted(own for s in self.samples if s.shard == shard for own in s.own_ms)

    def longest_step(self, shard: int) -> Step:
        """The longest step of the event loop, by processor time."""
        return max(sample.step for sample in self.samples if sample.shard == shard)

    def memory(self, shard: int) -> list[tuple[float, float]]:
        """Seconds since the begin, and MiB."""
        return [(s.at, s.memory_mib) for s in self.samples if s.shard == shard]

    def growth(self, shard: int) -> float:
        """MiB per minute, behind the warm-up and until the questions end."""
        return 60 * slope([p for p in self.memory(shard) if WARM_UP_S <= p[0] <= self.seconds])

    def counted(self, kind: str) -> int:
        """How many streams have a problem of that kind."""
        return len({problem.stream for problem in self.problems if problem.kind == kind})

    def acts(self, outcome: str | None = None) -> int:
        """How many requests went through the other process, all or with one outcome."""
        acted = [reply for reply in self.replies.values() if reply.act_at is not None]
        return sum(outcome in (None, reply.act_outcome) for reply in acted)

    def unreached(self) -> int:
        """How many requests did not reach the other process although Redis was there."""
        return sum(
            reply.act_outcome == "unreachable" and not self._was_away(reply.act_at or 0.0)
            for reply in self.replies.values()
        )

    def _was_away(self, at: float) -> bool:
        return any(away.begin - 0.2 <= at <= away.end + RECONNECTED_S for away in self.outages)

    def in_flight(self) -> int:
        """How many replies have been asked for and have not ended."""
        return sum(r.ended_at is None and not r.failed for r in self.replies.values())

    def progress(self, now: float) -> str:
        """One line for the person who waits."""
        recent = sorted(late for s in self.samples[-20:] for late in s.late_ms)
        memory = " + ".join(f"{self.memory(shard)[-1][1]:.0f}" for shard in self.shards)
        counts = ", ".join(f"{name} {count}" for name, count in self.statuses.most_common())
        return (
            f"{now - self.began_at:5.0f} s  in flight {self.in_flight()}; {counts}; "
            f"requests {self.acts('yes')} of {self.acts()} reached; redis {len(self.outages)}; "
            f"lag p99 {share(recent, 0.99):.1f} ms; memory {memory} MiB"
        )

    def failures(self) -> list[str]:
        """Everything that must not be."""
        found = [f"{problem.kind}: {problem.what}" for problem in self.problems]
        found += [f"logged: {error}" for error in self.errors]
        if self.tasks_left > 0:
            found.append(f"{self.tasks_left} tasks are left in the shards")
        if self.open_requests:
            found.append(f"{self.open_requests} requests to the provider are left open")
        for shard in self.shards:
            if (late := share(self.late_ms(shard), 0.99)) > LAG_MS:
                found.append(f"shard {shard}: lag p99 {late:.1f} ms, limit {LAG_MS:.0f} ms")
            if self.seconds >= JUDGED_S and self.growth(shard) > GROWTH_MIB:
                grown = f"{self.growth(shard):.2f} MiB per minute, limit {GROWTH_MIB}"
                found.append(f"shard {shard}: memory grows by {grown}")
        if not self.samples:
            found.append("the shards told nothing of their event loops")
        return found


def share(ordered: list[float], part: float) -> float:
    """The value below which this part of the values is; they are sorted."""
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


def rows(run: Run) -> list[tuple[str, str]]:
    """The table: what, and how much."""
    found = [
        ("length, streams at a time", f"{run.seconds / 60:g} min, {run.streams}"),
        ("load average before, processors", f"{run.load:.1f}, {os.cpu_count()}"),
        ("replies", f"{len(run.replies):,} ({_counts(run.statuses)})"),
        ("messages shown, calls to Discord, 429 beside the faults",
         f"{run.messages:,}, {run.calls:,}, {run.limited}"),
        *((f"streams with text {kind}" if kind in KINDS[:4] else f"streams {_OTHER[kind]}",
           str(run.counted(kind))) for kind in KINDS),
        ("requests through the other process", f"{run.acts()}: {run.acts('yes')} reached, "
         f"{run.acts('no')} found no reply, {run.acts('unreachable')} unreachable, "
         f"{run.unreached()} of them with Redis there"),
        ("restarts of Redis", str(len(run.outages))),
        ("faults of Discord", _counts(run.faults)),
        ("faults of the provider", _counts(Counter(
            reply.plan.fault for reply in run.replies.values() if reply.plan.fault != "none"))),
        ("tasks, requests to the provider left", f"{run.tasks_left}, {run.open_requests}"),
        ("errors logged", str(len(run.errors))),
        ("processor time", ", ".join(
            f"{name} {used / run.took_s:.0%}" for name, used in run.cpu_s.items())),
    ]  # fmt: skip
    for shard in run.shards:
        late, own, memory = run.late_ms(shard), run.own_ms(shard), run.memory(shard)
        at_minute = next((f"{mib:.1f}" for at, mib in memory if at >= WARM_UP_S), "–")
        growth = f"{run.growth(shard):+.2f} MiB/min"
        judged = growth if run.seconds >= JUDGED_S else "too short to be judged"
        found += [
            (f"shard {shard}: event loop late, p50, p99 (limit {LAG_MS:.0f} ms), longest",
             f"{share(late, 0.5):.1f}, {share(late, 0.99):.1f}, {late[-1]:.1f} ms"),
            (f"shard {shard}: of it by its own work, p50, p99, longest",
             f"{share(own, 0.5):.1f}, {share(own, 0.99):.1f}, {own[-1]:.1f} ms"),
            (f"shard {shard}: longest step of its event loop (limit {LAG_MS:.0f} ms)", _told(run.longest_step(shard))),
            (f"shard {shard}: memory at 1 minute, at the end, growth (limit {GROWTH_MIB} MiB/min)",
             f"{at_minute}, {memory[-1][1]:.1f} MiB, {judged}"),
        ]  # fmt: skip
    return found


def _told(step: Step) -> str:
    """Return the length of a step; above the limit also where it was."""
    took = f"{step.ms:.1f} ms, {step.collected_ms:.1f} ms of it the garbage collector"
    return f"{took}: {step.where}" if step.ms > LAG_MS else took


_OTHER = {"untrue": "whose result is untrue", "disobeyed": "that disobeyed a request"}


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common()) or "none"


def as_markdown(run: Run) -> str:
    """The section of the page."""
    about: dict[str, Any] = circumstances(run.seed, commit_now())
    command = f"make soak MINUTES={run.seconds / 60:g} STREAMS={run.streams} SEED={run.seed}"
    lines = [
        f"`{command}`, commit {about['commit']}, {about['date']}, {about['machine']}, "
        f"Python {about['python']}, hikari {about['packages']['hikari']}:",
        "",
        "| what | found |",
        "|---|---|",
        *(f"| {what} | {much} |" for what, much in rows(run)),
    ]
    return "\n".join(lines)


def drawn(run: Run) -> str:
    """The picture: memory and lag of each shard over time."""
    memory = {f"shard {shard}": run.memory(shard) for shard in run.shards}
    size_s = max(1, round(run.seconds / 60))
    lag = {f"shard {shard}": _lag(run, shard, size_s) for shard in run.shards}
    marks = [outage.begin - run.began_at for outage in run.outages]
    return picture(
        f"A soak of {run.seconds / 60:g} minutes, {run.streams} streams at a time",
        "Two shards of a bot, each a process; the dotted lines are restarts of Redis",
        [
            Lines("Memory of each process", "MiB over seconds", _thinned(memory), marks),
            Lines(f"Event loop late, p99 of each {size_s} s", "ms over seconds; the limit is 50 ms",
                  lag, marks, LAG_MS),
        ],
    )  # fmt: skip


def _lag(run: Run, shard: int, size_s: int) -> list[tuple[float, float]]:
    """The p99 of the delays in each so many seconds."""
    parts: dict[int, list[float]] = {}
    for sample in run.samples:
        if sample.shard == shard:
            parts.setdefault(int(sample.at // size_s), []).extend(sample.late_ms)
    return [(part * size_s, share(sorted(late), 0.99)) for part, late in sorted(parts.items())]


def _thinned(
    curves: dict[str, list[tuple[float, float]]], most: int = 200
) -> dict[str, list[tuple[float, float]]]:
    """Keep the highest point of each part, so that no peak is lost."""
    thin = {}
    for name, points in curves.items():
        size = -(-len(points) // most)
        parts = (points[at : at + size] for at in range(0, len(points), size or 1))
        thin[name] = [max(part, key=lambda point: point[1]) for part in parts]
    return thin


def write(run: Run, folder: Path) -> None:
    """Print the table; write it, the figures and the picture into *folder*."""
    width = max(len(what) for what, _ in rows(run))
    for what, much in rows(run):
        print(f"{what:{width}}  {much}")
    report = {
        "circumstances": circumstances(run.seed, commit_now()),
        "argv": sys.argv[1:],
        "took_s": round(run.took_s, 1),
        "rows": dict(rows(run)),
        "failures": run.failures(),
        "own_p99_ms": [share(run.own_ms(shard), 0.99) for shard in run.shards],
        "redis_killed_at": [round(outage.begin - run.began_at, 1) for outage in run.outages],
        "samples": [
            {"shard": s.shard, "at": round(s.at, 1), "memory_mib": s.memory_mib,
             "late_p99_ms": share(sorted(s.late_ms), 0.99), "late_max_ms": max(s.late_ms),
             "own_max_ms": max(s.own_ms), "longest_step": s.step}
            for s in run.samples
        ],
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    (folder / "report.md").write_text(as_markdown(run) + "\n", encoding="utf-8")
    (folder / "soak.svg").write_text(drawn(run), encoding="utf-8")
    print(f"reports: {folder}/report.json, report.md, soak.svg", flush=True)


def publish(run: Run) -> None:
    """Put the table and the picture on the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    image = f"![Memory and lag of both processes over time](pictures/{PICTURE.name})"
    text = f"{before}{BEGIN}\n\n{as_markdown(run)}\n\n{image}\n\n{END}{after}"
    PAGE.write_text(text, encoding="utf-8")
    PICTURE.write_text(drawn(run), encoding="utf-8")
