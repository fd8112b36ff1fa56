"""Chunking: replies with thoughts, cut in every way; what a channel shows must not depend on it.

Each document is cut everywhere in two, in equal parts and at random.  Hidden text must not be
shown, visible text must not be lost, and tags in code are text.
"""

from __future__ import annotations

from typing import Any

from benchmarks import inputs, judge
from benchmarks.contestants import Failed, Notes, Worker, field
from benchmarks.suites import FULL, Scale

PEERS = ("ai", "hermes-agent", "nanobot", "pydantic-ai", "litellm")
RANDOM = 400
#: litellm and pydantic-ai are slow enough that fewer random cuts have to do.
FEWER = {"litellm": 10, "pydantic-ai": 40}
OURS = 7_000


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return for each contestant how many documents it shows as they are meant."""
    notes: Notes = {}
    found = {}
    with field([name for name in scale.names(*PEERS) if name != "floor"], notes) as workers:
        for name, worker in workers.items():
            several = scale.many(OURS if name == "minamo" else FEWER.get(name, RANDOM), least=5)
            try:
                found[name] = _contestant(worker, several)
            except Failed as error:
                notes[name] = str(error)
    return {"documents": len(inputs.THOUGHTS), "contestants": found, "notes": notes}


def _contestant(worker: Worker, several: int) -> dict[str, Any]:
    cases = varying = leaking = losing = wrong = 0
    examples = []
    for number, (text, meant) in enumerate(inputs.THOUGHTS):
        cuts = inputs.cuts(len(text), several, number)
        cases += len(cuts)
        shown = worker.call("visible", text=text, cuts=cuts, peer=worker.name).result
        bad = [one for one in shown if not judge.same(one, meant)]
        varying += len({"".join(one.split()) for one in shown}) > 1
        leaking += any("hidden" in one for one in shown)
        losing += any(_loses(one, meant) for one in shown)
        wrong += bool(bad)
        if bad:
            examples.append([text, min(bad, key=len)])
    return {
        "cases": cases,
        "depend_on_chunks": varying,
        "show_hidden_text": leaking,
        "lose_text": losing,
        "wrong": wrong,
        "examples": examples[:3],
    }


def _loses(shown: str, meant: str) -> bool:
    """Return whether characters that are meant to be seen are missing, in order."""
    rest = iter("".join(shown.split()))
    return not all(character in rest for character in "".join(meant.split()))
