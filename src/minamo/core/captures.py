"""Keep what is not shown: thoughts and details."""

from __future__ import annotations

import re
from io import StringIO

from attrs import define, field, frozen

from minamo.core.accounting.spans import Ledger, Trail, cut
from minamo.core.lexing.lexer import Token
from minamo.core.limits import CAPTURE_MAX, NESTING_MAX

_SUMMARY = re.compile(r"<summary(?:\s[^<>]*)?>.*?</summary\s*>", re.IGNORECASE | re.DOTALL)


@frozen(slots=True)
class Block:
    """One thought or one stretch of details, as written, and where it stood."""

    kind: str
    text: str
    trail: Trail = field(factory=list)


@define
class Captures:
    """The blocks of a stream; at most one is open."""

    ledger: Ledger
    blocks: list[Block] = field(factory=list)
    kind: str = ""
    """The kind of the open block, if one is."""
    depth: int = 0
    """How many blocks are open inside the open one."""
    _text: StringIO = field(factory=StringIO)
    _trail: Trail = field(factory=list)
    _size: int = 0
    _kept: int = 0  # over all blocks, for the limit
    _closed_at: int | None = None  # just past the last tag that closed an inner block
    _flowing: bool = False  # the last block is a provider's thought that may go on

    def texts(self, kind: str) -> tuple[str, ...]:
        """The blocks of *kind*, trimmed; blank ones are left out."""
        found = (block.text.strip() for block in self.blocks if block.kind == kind)
        return tuple(text for text in found if text)

    def open(self, kind: str) -> None:
        """Begin a block."""
        self._flowing = False
        self.kind, self.depth, self._size, self._closed_at = kind, 0, 0, None
        self._text, self._trail = StringIO(), []

    def add(self, token: Token) -> None:
        """Take text of the open block."""
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
        """A tag opens a block inside the open one; the tag is part of it."""
        self.depth = min(self.depth + 1, NESTING_MAX)
        self.add(token)

    def unnest(self, token: Token) -> None:
        """A tag closes a block inside the open one."""
        self.depth -= 1
        self.add(token)
        self._closed_at = self._size

    def close(self) -> None:
        """Keep the open block."""
        text = self._text.getvalue()
        if self.kind == "details":
            text = self._without_summaries(text)
        self.blocks.append(Block(self.kind, text, self._trail))
        self.kind = ""
        self._flowing = False

    def give_back(self) -> tuple[str, int] | None:
        """Cut an open block behind the tag that last closed an inner one, if one did.

        The block merely mentioned a tag and was over there.  Returns what came after, which is to
        be read as anything else, and where it stood.  A block that was cut off stays as it is.
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

    def keep_open(self) -> None:
        """Keep a block that never closed."""
        if self.kind:
            self.close()

    def keep(self, kind: str, text: str, trail: Trail) -> None:
        """Keep text as a block of its own."""
        self._flowing = False
        self.blocks.append(Block(kind, text, trail))

    def provider(self, thoughts: tuple[str, ...]) -> None:
        """Take thoughts that came beside the text; pieces of one follow each other at once."""
        for index, thought in enumerate(thoughts):
            room = max(CAPTURE_MAX - self._kept, 0)
            thought = thought[:room]
            self._kept += len(thought)
            if self._flowing and index == 0:
                self.blocks[-1] = Block("think", self.blocks[-1].text + thought)
            else:
                self.blocks.append(Block("think", thought))
            self._flowing = True

    def interrupt(self) -> None:
        """Text was shown: a further thought of the provider is a new one."""
        self._flowing = False

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
