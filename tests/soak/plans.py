"""What each reply of a soak is: its words, its faults, and what is done to it, by seed and number.

Every process works a plan out by itself, so a question carries nothing but its number.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

from attrs import define, field, frozen

WORD = re.compile(r"s(\d+)w(\d+)")
#: What the provider does, with weights.
FAULTS = {
    "none": 60, "pause": 10, "busy": 8, "broken": 6, "reset": 6, "stall": 4, "down": 3, "empty": 3,
}  # fmt: skip
#: What is done to a reply; `next` is a newer question in its channel, the others go through the
#: process that does not have the stream.
ACTS = {"nothing": 60, "stop": 20, "next": 8, "kill": 6, "follow_up": 6}
#: Replies of these faults have all their words in the end.
WHOLE = ("none", "pause", "busy", "broken")
#: Longer than three attempts and their pauses take, on a busy machine, too.
SILENCE_MS = 10_000


@frozen
class Plan:
    """One reply: what the model says and how, and what else happens."""

    number: int
    words: tuple[str, ...] = field(repr=False)
    chunks: tuple[str, ...] = field(repr=False)
    chunk_s: float
    fault: str
    fault_at: int
    """The index of the chunk before which the fault happens."""
    act: str
    act_after_s: float
    edit: bool
    limit: int
    """`send_message_limit`; 0: none."""

    @property
    def said(self) -> list[str]:
        """The words that the provider says before it falls silent or breaks off."""
        if self.fault in WHOLE:
            return list(self.words)
        heard = self.chunks[: self.fault_at] if self.fault in ("reset", "stall") else ()
        return [word.group() for word in WORD.finditer("".join(heard))]

    def __str__(self) -> str:
        return (
            f"stream {self.number} ({len(self.words)} words, fault {self.fault}, act {self.act}, "
            f"{'edited in place' if self.edit else 'segments'}, limit {self.limit})"
        )


@define
class Reply:
    """What came of a plan, told by the bots and read in the channel."""

    plan: Plan
    shard: int
    channel: int
    asked_at: float
    began_at: float | None = None
    ended_at: float | None = None
    status: str = ""
    stop_reason: str | None = None
    booked: list[str] = field(factory=list)
    """The words of the result's `accumulated_text`."""
    uncertain: bool = False
    """Whether Discord's answer to one of its messages was lost for good."""
    unsent: list[str] = field(factory=list)
    """Why messages of it were not sent, as its receipts say."""
    failed: str = ""
    """The exception that `Client.stream` raised; it must raise none."""
    act_at: float | None = None
    act_outcome: str = ""
    shown: list[str] = field(factory=list)


@define
class Outage:
    """A time without Redis."""

    begin: float
    end: float = math.inf


def make_plan(seed: int, number: int) -> Plan:
    """Return the plan of a reply: the same in every process."""
    dice = random.Random(f"{seed}/{number}")
    words = tuple(f"s{number}w{n}" for n in range(dice.choice([4, 30, 80, 200])))
    pieces = _pieces(dice, words)
    chunks = tuple("".join(pieces[at : at + 3]) for at in range(0, len(pieces), 3))
    return Plan(
        number,
        words,
        chunks,
        dice.choice([0.02, 0.05, 0.1]),
        _draw(dice, FAULTS),
        dice.randrange(len(chunks)),
        _draw(dice, ACTS),
        dice.uniform(0.3, 9.0),
        dice.random() < 0.25,
        dice.choice([0, 0, 0, 0, 0, 2]),
    )


def _draw(dice: random.Random, weights: dict[str, int]) -> str:
    (drawn,) = dice.choices(list(weights), list(weights.values()))
    return drawn


def _pieces(dice: random.Random, words: Sequence[str]) -> list[str]:
    """Return the text of a reply in pieces: paragraphs, lists and code blocks."""
    pieces: list[str] = []
    at = 0
    while at < len(words):
        block = words[at : at + dice.choice([8, 20, 60])]
        at += len(block)
        form = dice.choice(["prose", "prose", "prose", "list", "code"])
        if form == "code":
            pieces += ["```py\n", *(f"{word}\n" for word in block), "```"]
        elif form == "list":
            pieces += [f"- {word}\n" for word in block]
        else:
            pieces += [f"{word} " for word in block[:-1]] + [f"{block[-1]}."]
        pieces.append("\n\n")
    return pieces[:-1]
