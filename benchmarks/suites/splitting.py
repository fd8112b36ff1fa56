"""Splitting: documents longer than a message; what Discord would make of the messages.

The documents are those that split badly in bots' issue trackers, and random mixtures of their
parts.  The judge knows what must stay whole, closed or hidden.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks import judge
from benchmarks.contestants import Failed, Notes, field
from benchmarks.inputs import Marks
from benchmarks.suites import FULL, Scale

PEERS = ("hermes-agent", "nanobot", "red", "chat")
MIXTURES = 40
COLUMNS = ("lost", "doubled", "too_long", "broken_code_blocks", "torn_code_lines",
           "revealed_spoilers", "open_bold", "torn_links", "torn_graphemes")  # fmt: skip


class Document:
    """A text and what must become of its parts."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.mark = Marks("k")
        self.code_lines: list[str] = []
        self.spoilers: list[str] = []
        self.links: list[str] = []
        self.graphemes: list[str] = []

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)

    def prose(self) -> None:
        """Add a paragraph with bold words."""
        words = " ".join(f"words {self.mark()} go on" for _ in range(30))
        self.parts.append(f"A paragraph with **bold {self.mark()} words**: {words}.\n\n")

    def bold(self) -> None:
        """Add a long bold passage, of 660 characters."""
        words = " ".join(f"loud {self.mark()}" for _ in range(60))
        self.parts.append(f"**{words}**\n\n")

    def code(self, lines: int = 60, fence: str = "```") -> None:
        """Add a code block with indented lines."""
        made = [f"    value_{self.mark()} = compute({number})" for number in range(lines)]
        self.code_lines += made
        body = "\n".join(made)
        self.parts.append(f"{fence}py\n{body}\n{fence}\n\n")

    def spoiler(self) -> None:
        """Add a spoiler that is longer than a message."""
        words = []
        for _ in range(200):
            words.append(f"secret {self.mark()}")
            self.spoilers.append(self.mark.given[-1])
        self.parts.append(f"||{' '.join(words)}||\n\n")

    def link(self) -> None:
        """Add text with links."""
        for _ in range(25):
            link = f"https://example.org/{self.mark()}/a/rather/long/path?query={self.mark()}"
            self.links.append(link)
            self.parts.append(f"See {link} for more. ")
        self.parts.append("\n\n")

    def table(self) -> None:
        """Add a table."""
        rows = "".join(f"| {self.mark()} | {number} | in the lake |\n" for number in range(60))
        self.parts.append(f"| name | size | where |\n|---|---|---|\n{rows}\n")

    def emoji(self) -> None:
        """Add families, each one grapheme of seven code points."""
        family = "👨‍👩‍👧‍👦"
        for _ in range(90):
            whole = f"{family}{self.mark()}"
            self.graphemes.append(whole)
            self.parts.append(whole + " ")
        self.parts.append("\n\n")

    def japanese(self) -> None:
        """Add text without spaces."""
        self.parts.append("".join(f"水面は静かだった{self.mark()}。" for _ in range(120)) + "\n\n")

    def listed(self) -> None:
        """Add a list."""
        self.parts.append("".join(f"- item {self.mark()}\n  - and more\n" for _ in range(90)))
        self.parts.append("\n")


SECTIONS = ("prose", "bold", "code", "spoiler", "link", "table", "emoji", "japanese", "listed")


def documents(mixtures: int) -> list[Document]:
    """Return a document of each section alone, three of code, and random mixtures."""
    found = []
    for section in SECTIONS:
        document = Document()
        while len(document.text) < 5_000:
            getattr(document, section)()
        found.append(document)
    for fence, lines in (("~~~", 120), ("````", 120), ("```", 400)):
        document = Document()
        document.code(lines, fence)
        found.append(document)
    chance = random.Random(7)  # noqa: S311 - repeatable
    for _ in range(mixtures):
        document = Document()
        for _ in range(chance.randrange(2, 7)):
            getattr(document, chance.choice(SECTIONS))()
        found.append(document)
    return found


def measure(scale: Scale = FULL) -> dict[str, Any]:
    """Return the faults of each contestant over all documents."""
    notes: Notes = {}
    given = documents(scale.many(MIXTURES))
    texts = [document.text for document in given]
    found = {}
    with field(scale.names(*PEERS), notes) as workers:
        for name, worker in workers.items():
            try:
                messages = worker.call("split", texts=texts).result
            except Failed as error:
                notes[name] = str(error)
                continue
            counts = [_judged(*pair) for pair in zip(given, messages, strict=True)]
            totals = {column: sum(one[column] for one in counts) for column in COLUMNS}
            found[name] = {
                "messages": sum(map(len, messages)),
                "documents_with_a_fault": sum(any(one.values()) for one in counts),
                **totals,
            }
    return {"documents": len(given), "contestants": found, "notes": notes}


def _judged(document: Document, messages: list[str]) -> dict[str, int]:
    return {
        "lost": judge.lost(messages, document.mark.given),
        "doubled": judge.doubled(messages, document.mark.given),
        "too_long": judge.too_long(messages),
        "broken_code_blocks": judge.broken_fences(messages),
        "torn_code_lines": judge.torn(messages, document.code_lines),
        "revealed_spoilers": judge.revealed(messages, document.spoilers),
        "open_bold": judge.left_open(messages),
        "torn_links": judge.torn(messages, document.links),
        "torn_graphemes": judge.torn(messages, document.graphemes),
    }
