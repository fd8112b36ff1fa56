"""The scripted provider of the demo: its script, its words and its tool calls.

It is deterministic: the same message gets the same reply.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import field, frozen

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, Usage
from minamo.shell.providers.scripted import Line, ScriptedProvider
from minamo.wire.conversation import ChatMessage
from minamo.wire.options import Tool

# As slow as a leisurely model, so that the streaming is visible.
_WORD_S = 0.045


@frozen(kw_only=True)
class Piece:
    """One reply: its name, the messages it answers, and its text."""

    name: str
    title: str
    """Label of its button."""
    prompt: str
    """Message that the button sends."""
    words: tuple[str, ...]
    """Words of a message that select this reply."""
    text: str = field(repr=False)
    word_s: float = _WORD_S
    calls: tuple[Call, ...] = ()
    """Tools it calls after its text."""
    error: ErrorChunk | None = None
    """Error of the provider after the text."""
    hangs: bool = False
    """Whether the provider goes silent after the text."""


def _seen(metres: int) -> str:
    """Return what a diver sees at a depth."""
    for depth, words in ((15, "red is gone"), (40, "orange and yellow fade"), (100, "only green")):
        if metres <= depth:
            return words
    return "only blue" if metres <= 200 else "dusk at noon"


HELLO = Piece(
    name="hello",
    title="Hello",
    prompt="Hello! What are you?",
    words=("hello", "hi", "hey", "who", "what"),
    text="""\
Hello! I am a bot without a model: everything I say is written in a script. What carries my words \
to you is the real thing, though. It is called **minamo**, the surface of the water, where a \
stream comes to light.

A model says its reply word by word. Discord wants whole messages, not too many and not too long. \
So the words go through a *state machine*: it reads, looks for places where a message may end, \
and hands each paragraph over as soon as it is complete.

You are reading the third message. Each arrived on its own, while I was still typing the next.
""",
)

CODE = Piece(
    name="code",
    title="Code",
    prompt="Show me some code.",
    words=("code", "python", "example", "program"),
    text="""\
A whole bot fits on a screen:

```python
import hikari
import minamo

bot = hikari.GatewayBot("TOKEN")
client = minamo.Client(bot)
llm = minamo.OpenAICompatible("https://openrouter.ai/api/v1", model="…", api_key="…")


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.is_human and event.content:
        result = await client.stream(event, llm.ask(event.content))
        print(result.status)


bot.run()
```

While I wrote that the machine was in the state `in_code`: no blank line ends a message there, \
and `<think>` in code is only text.
""",
)

THINK = Piece(
    name="think",
    title="Thoughts",
    prompt="Think about it first: why is the sea blue?",
    words=("think", "thought", "thoughts", "why", "reason"),
    text="""\
<think>The question is about colour. Water absorbs red light first, so what comes back is blue. \
Keep it short, and do not show any of this.</think>Because water swallows red light first. What \
is left on its way back to your eye is blue.

Before that I thought for a moment, between two tags that you did not see. Nothing of a thought \
reaches the channel, even if a tag arrives in pieces such as `<th` and `ink>`. The owner of a bot \
decides where thoughts go: nowhere, a log, a spoiler or a thread.
""",
)

DETAILS = Piece(
    name="details",
    title="Details",
    prompt="Give me the details.",
    words=("details", "detail", "sources"),
    text="""\
In short: every character of a reply ends in exactly one place.

<details><summary>How that is counted</summary>
Shown in a message, kept as a thought or as details, or suppressed for one named reason. The \
sums are in the result of every stream, and the tests check them.
</details>

The long version was between `<details>` tags. It is kept from the channel, and the program gets \
it as `result.details_content`.
""",
)

TABLE = Piece(
    name="table",
    title="A table",
    prompt="How can a reply end? Make a table.",
    words=("table", "end", "outcomes", "status"),
    text="""\
A reply ends in exactly one of seven ways:

| status | what happened |
|---|---|
| completed | the model was done |
| function_call | it wants a tool |
| error | the provider failed |
| timeout | it fell silent |
| stopped_by_user | somebody said stop |
| empty_response | it said nothing |
| follow_up_interrupt | a new message came first |

Discord shows no tables, so this one was drawn as code, with its columns aligned.
""",
)

ROLL = Piece(
    name="roll",
    title="A tool",
    prompt="Roll three dice with 20 sides.",
    words=("roll", "dice", "die", "tool", "tools"),
    text="Let me throw them. This is a real call of a real tool: a typed Python function.\n\n",
    calls=(Call("roll", {"sides": 20, "count": 3}, id="demo-roll"),),
)

LONG = Piece(
    name="long",
    title="A long reply",
    prompt="Tell me something long.",
    words=("long", "story", "much", "more"),
    word_s=0.012,
    text="""\
Here is a listing that is longer than a message of Discord's may be. Watch where it is cut.

```python
LIGHT_LEFT = {  # how much of the blue light is left, by metres of clear sea water
"""
    + "".join(
        f"    {metres:4}: {math.exp(-metres / 43.5):.7f},  # {seen}\n"
        for metres, seen in ((5 * number, _seen(5 * number)) for number in range(1, 61))
    )
    + """\
}
```

Each part is closed with three backticks, and the next one is opened again as Python. No line \
was cut in two, and if you count: not one character of the code is lost.
""",
)

ERROR = Piece(
    name="error",
    title="An error",
    prompt="Let something go wrong.",
    words=("error", "wrong", "fail", "break", "broken"),
    text="""\
I will say two sentences, and then my provider will fail. Everything I said until then is \
delivered, also this half of a
""",
    error=ErrorChunk(
        "provider_overloaded", "the scripted provider was told to fail", retryable=True
    ),
)

SLOW = Piece(
    name="slow",
    title="A slow reply",
    prompt="Count slowly, so that I can stop you.",
    words=("slow", "slowly", "count", "stop"),
    word_s=0.3,
    text="".join(
        f"{number}. {words}\n\n"
        for number, words in enumerate(
            (
                "I speak slowly now, so that you can interrupt me.",
                "Press *Stop*: what I said until then stays, the rest is never asked for.",
                "Or write something else: then I drop this and answer that.",
                "A stop acts at once, even while the model is silent.",
                "It is meant for this reply alone and cannot hit the next one.",
                "You are patient.",
                "Very patient.",
                "This was the last line, and nobody stopped me.",
            ),
            1,
        )
    ),
)

SILENT = Piece(
    name="silent",
    title="Silence",
    prompt="Fall silent.",
    words=("silent", "silence", "timeout", "hang"),
    text="I will now say nothing more, as a provider does whose connection hangs. Watch the clock.",
    hangs=True,
)

#: In the order of the buttons.
PIECES = (HELLO, CODE, THINK, DETAILS, TABLE, ROLL, LONG, SLOW, ERROR, SILENT)

ROLLED = """\
They show **{rolled}**, which makes **{total}**.

That took two replies and a call between them; the *turn* has a state machine of its own.
"""
TOOL_FAILED = "The tool did not work; it said: {said}"
LOST = """\
I am only a script, and nothing in it answers that. Words that I know: {names}.
"""


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
            return self._said(LOST.format(names=", ".join(piece.name for piece in self.pieces)))
        has_tools = {call.name for call in piece.calls} <= {tool.name for tool in tools}
        return self._piece(piece, calls=bool(piece.calls) and has_tools)

    def find(self, text: str) -> Piece | None:
        """Return the piece for *text*: by the exact prompt, or else by the first known word."""
        plain = text.strip().lower()
        for piece in self.pieces:
            if plain == piece.prompt.lower():
                return piece
        heard = _LETTERS.findall(plain)
        by_word = {word: piece for piece in reversed(self.pieces) for word in piece.words}
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
        rolled = ", ".join(str(eyes) for eyes in found["rolled"])
        return ROLLED.format(rolled=rolled, total=found["total"])
    except (ValueError, KeyError, TypeError):
        return f"The tool said: {answer.text}"
