"""Scripted provider of the demo: replies word by word, and calls tools like a model.

It is deterministic: the same message gets the same reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import field, frozen

from minamo.bot.demo.script import HELLO, LOST, PIECES, ROLLED, TOOL_FAILED, Piece
from minamo.core.chunks import DoneChunk, FunctionCall, Usage
from minamo.shell.providers.scripted import Line, ScriptedProvider
from minamo.wire.conversation import ChatMessage
from minamo.wire.options import Tool

# Simulated time to the first token.
_BEGIN_S = 0.5
_WORD = re.compile(r"\S+\s*|\s+")
_LETTERS = re.compile(r"[a-z]+")


@frozen
class DemoProvider:
    """A provider that replies from the script; `chat` returns a reply as chunks."""

    pieces: tuple[Piece, ...] = field(default=PIECES, repr=False)
    pace: float = 1.0
    """Factor on all delays; 0 for tests that cannot wait."""

    def chat(
        self, messages: Sequence[ChatMessage], *, tools: Iterable[Tool] = (), **_: Any
    ) -> ScriptedProvider:
        """Return the reply to the last message."""
        last = messages[-1]
        if last.role == "tool":
            return self._said(_of_answer(last))
        piece = self.find(last.text)
        if piece is None:
            return self._said(LOST.format(names=", ".join(one.name for one in self.pieces)))
        has_tools = {call.name for call in piece.calls} <= {tool.name for tool in tools}
        return self._piece(piece, calls=bool(piece.calls) and has_tools)

    def find(self, text: str) -> Piece | None:
        """Return the piece for *text*: by the exact prompt, or else by the first known word."""
        plain = text.strip().lower()
        for piece in self.pieces:
            if plain == piece.prompt.lower():
                return piece
        heard = _LETTERS.findall(plain)
        by_word = {word: one for one in reversed(self.pieces) for word in one.words}
        # A greeting in front of a question must not win over the question.
        order = sorted(heard, key=lambda word: by_word.get(word) is HELLO)
        return next((by_word[word] for word in order if word in by_word), None)

    def _piece(self, piece: Piece, *, calls: bool) -> ScriptedProvider:
        lines = list(self._words(piece.text, piece.word_s))
        spent = Usage(input_tokens=12, output_tokens=len(lines))
        if calls:
            lines.append((0.0, FunctionCall(piece.calls, usage=spent)))
        elif piece.error is not None:
            lines.append((0.0, piece.error))
        elif not piece.hangs:
            lines.append((0.0, DoneChunk("stop", usage=spent, model="script")))
        return ScriptedProvider(lines, hangs=piece.hangs)

    def _said(self, text: str) -> ScriptedProvider:
        return self._piece(Piece(name="", title="", prompt="", words=(), text=text), calls=False)

    def _words(self, text: str, word_s: float) -> Iterator[Line]:
        wait = _BEGIN_S
        for word in _WORD.findall(text):
            yield wait * self.pace, word
            wait = word_s


def _of_answer(answer: ChatMessage) -> str:
    if answer.failed:
        return TOOL_FAILED.format(said=answer.text)
    try:
        found = json.loads(answer.text)
        rolled = ", ".join(str(one) for one in found["rolled"])
        return ROLLED.format(rolled=rolled, total=found["total"])
    except (ValueError, KeyError, TypeError):
        return f"The tool said: {answer.text}"
