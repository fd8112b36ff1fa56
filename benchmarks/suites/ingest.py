"""Ingest: CPU time from bytes on a loopback socket to a chunk of text, in every dialect.

The provider is another process and writes as fast as it can, so what is measured is work and not
waiting.  The floor is the least that can be written by hand with aiohttp and msgspec.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import inputs
from benchmarks.contestants import Answer, Notes, Worker, field, interleave
from benchmarks.figures import ratio, short
from benchmarks.sse_server import serving
from benchmarks.suites import FULL, Scale

READERS = {
    "openai": ("openai", "httpx-sse", "pydantic-ai", "litellm", "ai"),
    "responses": ("openai",),
    "anthropic": ("anthropic", "pydantic-ai", "litellm", "ai"),
    "google": ("google-genai", "pydantic-ai", "litellm", "ai"),
}


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return CPU per chunk of each contestant, and its ratio to the floor and to minamo."""
    notes: Notes = {}
    said = inputs.words(scale.many(1_000, least=20))
    everyone = dict.fromkeys(name for names in READERS.values() for name in names)
    replies = {dialect: inputs.frames(dialect, said) for dialect in READERS}
    with serving(replies) as url, field(scale.names(*everyone), notes) as workers:
        dialects = {
            dialect: _dialect(dialect, url, said, scale, workers, notes) for dialect in READERS
        }
    return {"chunks": len(said), "dialects": dialects, "notes": notes}


def _dialect(
    dialect: str, url: str, said: list[str], scale: Scale, workers: dict[str, Worker], notes: Notes
) -> dict[str, Any]:
    path = inputs.PATHS[dialect]
    if dialect == "google":
        path += "?alt=sse"

    def read(name: str) -> Answer:
        return workers[name].call("ingest", url=url, path=path, dialect=dialect, peer=name)

    names = [name for name in scale.names(*READERS[dialect]) if name in workers]
    found: Notes = {}
    answers = interleave(names, scale.rounds, read, found, budget_s=18)
    notes |= {f"{name} ({dialect})": why for name, why in found.items()}
    # These two are a few per cent apart and take milliseconds, so they get many more rounds.
    close = [name for name in ("minamo", "floor") if name in answers]
    closer = interleave(close, 8 * scale.rounds, read, {}, budget_s=8)
    answers |= {name: answers[name] + given for name, given in closer.items()}
    took = {name: [one.cpu_s for one in given] for name, given in answers.items()}
    text = "".join(said)
    return {
        name: {
            "us_per_chunk": short(statistics.median(seconds) / len(said) * 1e6),
            "to_floor": ratio(seconds, took["floor"]),
            "to_minamo": ratio(seconds, took["minamo"]),
            "text_is_whole": all(one.result == text for one in answers[name]),
        }
        for name, seconds in took.items()
    }
