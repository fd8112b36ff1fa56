"""Stops: how long a reply goes on after it was stopped, or after its provider went silent.

minamo is stopped in every state, in three ways; a peer is stopped while its provider is silent,
in the way its documentation names.
"""

from __future__ import annotations

from typing import Any

from benchmarks import inputs
from benchmarks.contestants import Failed, Notes, Worker, field
from benchmarks.figures import quantile, short
from benchmarks.sse_server import serving
from benchmarks.suites import FULL, Scale

STATES = ("opening", "streaming", "in_think", "in_details", "in_code", "call in flight",
          "channel is full")  # fmt: skip
KINDS = ("user", "follow_up", "kill")
PEERS = ("openai", "litellm", "pydantic-ai", "hermes-agent", "ai")
TIMEOUT_MS = 300
#: Frames after which the provider is silent; the first has no text.
SAID = 6


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return milliseconds from the request to the outcome, and what came too late."""
    notes: Notes = {}
    trials = scale.many(20, least=2)
    names = ["minamo live", *(PEERS if scale.peers else ())]
    replies = {"openai": inputs.frames("openai", inputs.words(20))}
    with serving(replies, silent_after=SAID) as url, field(names, notes) as workers:
        ours = workers.pop("minamo live")
        states = {state: _state(ours, state, trials) for state in STATES}
        # For a peer it is over when its loop has ended; so for minamo when its call has returned.
        peers = {"minamo": states["streaming"]["returned"]}
        for name, worker in workers.items():
            try:
                peers[name] = _peer(worker, url, trials)
            except Failed as error:
                notes[name] = str(error)
        stalls = _stalls(ours, workers, url, trials, notes)
    every = [state["p99_ms"] for state in states.values()]
    return {"trials": trials, "states": states, "worst_p99_ms": max(every), "peers": peers,
            "stall_timeout_ms": TIMEOUT_MS, "stalls": stalls, "notes": notes}  # fmt: skip


def _state(worker: Worker, state: str, trials: int) -> dict[str, Any]:
    took: list[float] = []
    settled: list[float] = []
    late, statuses = 0, set()
    for kind in KINDS:
        found = worker.call("stops", state=state, kind=kind, trials=trials).result
        took += found["took_s"]
        settled += found["settled_s"]
        late += found["sent_late"]
        statuses |= set(found["statuses"])
    return {
        **_times(took),
        "returned": _times(settled),
        "sends_begun_after": late,
        "statuses": sorted(statuses),
    }


def _times(took: list[float]) -> dict[str, float]:
    return {
        "p50_ms": short(quantile(took, 0.5) * 1000),
        "p99_ms": short(quantile(took, 0.99) * 1000),
    }


def _peer(worker: Worker, url: str, trials: int) -> dict[str, Any]:
    given: dict[str, Any] = {
        "url": url,
        "dialect": "openai",
        "peer": worker.name,
        "after": SAID - 1,
    }
    found = [worker.call("stop", **given).result for _ in range(trials)]
    return _times([one["took_s"] for one in found])


def _stalls(
    ours: Worker, workers: dict[str, Worker], url: str, trials: int, notes: Notes
) -> dict[str, Any]:
    """Return by how much the provider's silence is noticed late, and whether its text is kept."""
    few = max(2, trials // 4)
    found = ours.call("stalls", timeout_ms=TIMEOUT_MS, trials=few).result
    stalls = {"minamo": {**_late(found["took_s"]), "text_is_kept": found["kept"]}}
    for name in ("openai", "litellm", "ai"):
        if name not in workers:
            continue
        given: dict[str, Any] = {
            "url": url,
            "dialect": "openai",
            "peer": name,
            "timeout_ms": TIMEOUT_MS,
        }
        try:
            runs = [workers[name].call("stall", **given, timeout_s=20).result for _ in range(few)]
        except Failed as error:
            notes[f"{name} (stall)"] = str(error)
            continue
        took = [run["took_s"] for run in runs]
        stalls[name] = {**_late(took), "text_is_kept": all(run["kept"] for run in runs)}
    return stalls


def _late(took: list[float]) -> dict[str, float]:
    late = [seconds * 1000 - TIMEOUT_MS for seconds in took]
    return {"late_p50_ms": short(quantile(late, 0.5)), "late_p99_ms": short(quantile(late, 0.99))}
