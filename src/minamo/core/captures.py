"""Captured blocks that are not shown: thoughts and details."""

from __future__ import annotations

import re
from io import StringIO

from attrs import define, field, frozen

from minamo.core.accounting.spans import Ledger, Trail, cut
from minamo.core.lexing.lexer import Token
from minamo.core.limits import CAPTURE_MAX, NESTING_MAX

_SUMMARY = re.compile(r"<summary(?:\s[^<>]*)?>.*?</summary\s*>", re.IGNORECASE | re.DOTALL)


@frozen(slots=True)
class Capture:
    """One thought or one details block as written, with its source spans."""

    kind: str
    text: str
    trail: Trail = field(factory=list)


@define
class Captures:
    """The captured blocks of a stream; at most one is open."""

    ledger: Ledger
    blocks: list[Capture] = field(factory=list)
    kind: str = ""
    """Kind of the open block; empty if none is open."""
    depth: int = 0
    """Number of blocks open inside the open one."""
    _text: StringIO = field(factory=StringIO)
    _trail: Trail = field(factory=list)
    _size: int = 0
    _kept: int = 0  # over all blocks, for the limit
    _closed_at: int | None = None  # just past the last tag that closed an inner block
    flowing: bool = False
    """Whether the last block is a provider's thought that may continue: no text was shown since."""

    def texts(self, kind: str) -> tuple[str, ...]:
        """Return the blocks of *kind*, trimmed and without blank ones."""
        texts = [block.text.strip() for block in self.blocks if block.kind == kind]
        return tuple(filter(None, texts))

    def open(self, kind: str) -> None:
        """Begin a block."""
        self.flowing = False
        self.kind, self.depth, self._size, self._closed_at = kind, 0, 0, None
        self._text, self._trail = StringIO(), []

    def add(self, token: Token) -> None:
        """Append text to the open block; text past `CAPTURE_MAX` is suppressed."""
        room = max(CAPTURE_MAX - self._kept, 0)
        text = token.text[:room]
        self.ledger.suppress(token.start + len(text), len(token.text) - len(text), "limit")
        self._kept += len(text)
        if text:
            self._text.write(text)
            self._size += len(text)
            start, size = self._trail[-1] if self._trail else (-1, 0)
            if start + size == token.start:
                self._trail[-1] = (start, size + len(text))
            else:
                self._trail.append((token.start, len(text)))

    def nest(self, token: Token) -> None:
        """Open an inner block; its tag is part of the text."""
        self.depth = min(self.depth + 1, NESTING_MAX)
        self.add(token)

    def unnest(self, token: Token) -> None:
        """Close an inner block; its tag is part of the text."""
        self.depth -= 1
        self.add(token)
        self._closed_at = self._size

    def close(self) -> None:
        """Close the open block and keep it, unless it is empty."""
        text = self._text.getvalue()
        if self.kind == "details":
            text = self._without_summaries(text)
        if text:
            self.blocks.append(Capture(self.kind, text, self._trail))
        self.kind = ""
        self.flowing = False

    def give_back(self) -> tuple[str, int] | None:
        """Cut the open block after the last tag that closed an inner one, if there is one.

        The block merely mentioned a tag and ended there.  Returns the text after the cut, to be
        read like any other, and its stream offset.  A block truncated by the limit is not cut.
        """
        at = self._closed_at
        if not self.kind or at is None or at == self._size or self._kept >= CAPTURE_MAX:
            return None
        text = self._text.getvalue()
        self._text = StringIO()
        self._text.write(text[:at])
        (start, _), *_ = cut(self._trail, at, self._size - at)
        self._trail = cut(self._trail, 0, at)
        self._kept -= self._size - at
        self.depth = 0
        return text[at:], start

    def keep(self, kind: str, text: str, trail: Trail) -> None:
        """Keep *text* as a separate block."""
        self.flowing = False
        self.blocks.append(Capture(kind, text, trail))

    def provider(self, thoughts: tuple[str, ...]) -> None:
        """Keep thoughts sent beside the text.

        The first continues the previous thought unless text was shown in between.
        """
        for index, thought in enumerate(thoughts):
            room = CAPTURE_MAX - self._kept
            if room <= 0:
                return
            thought = thought[:room]
            self._kept += len(thought)
            if self.flowing and index == 0:
                self.blocks[-1] = Capture("think", self.blocks[-1].text + thought)
            else:
                self.blocks.append(Capture("think", thought))
            self.flowing = True

    def _without_summaries(self, text: str) -> str:
        out, kept, at = [], [], 0
        for found in _SUMMARY.finditer(text):
            for start, size in cut(self._trail, found.start(), found.end() - found.start()):
                self.ledger.suppress(start, size, "summary")
            out.append(text[at : found.start()])
            kept += cut(self._trail, at, found.start() - at)
            at = found.end()
        out.append(text[at:])
        self._trail = kept + cut(self._trail, at, len(text) - at)
        return "".join(out)
