"""P25: whatever is merged into a message, Discord finds no masked link in it.

The judge is Discord's own rule for a link, applied to every place outside of code as Discord reads
code: across lines, and wherever the backticks stand.
"""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.stream import Stream

LINK = re.compile(
    r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]"
    r"\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['\"]([\s\S]*?)['\"])?\s*\)"
)
BLOCK = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
ESCAPE = re.compile(r"\\[^0-9A-Za-z\s]")


def links(message: str) -> list[str]:
    """The masked links that Discord shows for *message*."""
    found: list[str] = []
    plain, escaped = list(message), set[int]()
    at = 0
    while at < len(message):
        here = [pattern.match(message, at) for pattern in (ESCAPE, BLOCK, CODE)]
        match = next((one for one in here if one), None)
        end = match.end() if match else at + 1
        if here[0]:
            escaped.add(at + 1)
        elif match:
            plain[at:end] = "x" * (end - at)
        at = end
    text = "".join(plain)
    for start in (opening.start() for opening in re.finditer(r"\[", text)):
        match = LINK.match(text, start)
        shown = match is not None and start not in escaped
        if shown and re.match("https?://", match[2], re.IGNORECASE):
            found.append(message[start : match.end()])
    return found


ATOMS = [
    "[", "]", "(", ")", "](", "[a](https://x.test)", "[a", "bank](https://x.test/l)", "https://x.test",
    "(https://x.test", "](https://", "](h", "](<https://x.test>)", ' "title")', ' "', "'", " ", "\n",
    "\n\n", ". ", "word ", "`", "``", "```", "\n```\n", "\n~~~\n", "\\", "\u200b", "<|im_end|>", "!", "<",
    ">", "[system: x]", "word " * 60, "label " * 250, "x" * 400, "<think>t</think>", "*", "||", "> ",
    "| a | b |\n|---|---|\n", "| [a] | (https://x.test) |\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)


def test_the_judge_knows_a_link() -> None:
    assert links("see [a\n\nb](https://x.test) and `[c](https://y.test)`") == [
        "[a\n\nb](https://x.test)"
    ]
    assert links("[a] (https://x.test) a (<https://x.test>) \\[a](https://x.test)") == []


@given(TEXTS, st.integers(0, 3), st.sampled_from([1, 100, 1_000]), st.sampled_from([100, 1_950]),
       st.lists(st.sampled_from([1, 2, None]), min_size=1, max_size=5), st.integers(1, 60))  # fmt: skip
@example("Log in to [your\n\nbank](https://x.test) now.", 1, 1_000, 1_950, [None], 5)
@example("[a]" + "label " * 250 + "](https://x.test) ok", 1, 1_000, 1_950, [None], 40)
@example("a `\nb ` [x](https://x.test) ` c", 1, 1_000, 1_950, [None], 40)
@example("a ``` b\n```\n[x](https://x.test)\n```", 1, 1_000, 1_950, [None], 40)
def test_p25_no_message_has_a_masked_link(
    text: str, degree: int, flush: int, limit: int, takes: list[int | None], size: int
) -> None:
    config = StreamConfig(
        degree=degree, flush_buffer_size=flush, max_message_length=limit, humanize=False
    )
    stream = Stream(config)
    outbox = stream.actions.outbox
    messages: list[str] = []
    growing: list[str] = []
    for number, at in enumerate(range(0, len(text), size)):
        stream.chunk(TextChunk(text[at : at + size]))
        growing += [outbox.look(stream.actions.buffer.pending).text] if number < 40 else []
        if number % 3 == 0 and (most := takes[number % len(takes)]):
            messages += [message.text for message in outbox.take(most)]
    stream.end()
    messages += [message.text for message in outbox.take(takes[0])]
    messages += [message.text for message in outbox.take(None)]
    assert [links(message) for message in messages if links(message)] == []
    # A reply that grows in place is fitted as a whole, again and again.
    for look in growing:
        assert [m.text for m in fit(look, limit=limit).messages if links(m.text)] == []
