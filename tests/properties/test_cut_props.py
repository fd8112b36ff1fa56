"""P4, seen from outside: no word, code span or token is cut while there is another place.

The judge knows nothing of how a text is cut.  The text is made of parts it knows, with a blank
between any two of them, and none is longer than a message: so there is always another place.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minamo.core.fitting.fit import fit
from support.audit import audit, fits, run, same

LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMON = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# How often each kind of part comes up in a text.
KINDS = {
    "word": 60, "name": 4, "sentence": 6, "quoted": 3, "strong": 3, "emphasis": 2, "url": 4,
    "mention": 2, "command": 3, "emoji": 2, "timestamp": 2, "code": 6, "long code": 1,
    "long url": 1, "bracketed": 2, "commands": 1, "tick": 1,
}  # fmt: skip


class Made:
    """A text, and its parts that are not to be cut: each is different from every other."""

    def __init__(self, seed: int, size: int, part_max: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._part_max = part_max
        self.whole: list[str] = []
        pieces: list[str] = []
        while sum(map(len, pieces)) < size:
            (kind,) = self._random.choices(list(KINDS), list(KINDS.values()))
            pieces.append(self._part(kind))
            pieces.append("\n" if self._random.random() < 0.01 else " ")
        self.text = "".join(pieces).strip()

    def _number(self) -> str:
        self._count += 1
        return f"{self._count:05}"

    def _word(self) -> str:
        """A word of up to 20 characters that is found nowhere else."""
        size = self._random.randint(0, 15)
        return self._keep("".join(self._random.choices(LETTERS, k=size)) + self._number())

    def _keep(self, part: str) -> str:
        self.whole.append(part)
        return part

    def _words(self, most: int) -> str:
        return " ".join(self._word() for _ in range(self._random.randint(1, most)))

    def _token(self, text: str) -> str:
        return self._keep(text[: self._part_max - 1] + text[-1])

    def _code(self, size: int) -> str:
        pick = self._random.choice
        ticks = pick(["`", "`", "``"])
        inner = "x" + " ".join(
            f"Fn_{self._number()}(a, b)" + pick(["", ".", "!"]) for _ in range(size // 16 + 1)
        )
        room = min(size, self._part_max - 2 * len(ticks)) - 1
        return self._keep(f"{ticks}{inner[:room].rstrip()};{ticks}")

    def _part(self, kind: str) -> str:
        pick = self._random.choice
        if kind == "tick":
            return self._word() + "\u02cb"  # a look-alike of a backtick
        if kind in ("code", "long code"):
            return self._code(self._random.randint(3, 60 if kind == "code" else 900))
        if kind in ("url", "long url"):
            size = self._random.randint(1, 40 if kind == "url" else 1_900)
            return self._token(f"https://{self._number()}.test/" + "p" * size + "q")
        if kind == "commands":
            count = self._random.randint(1, 8)
            return "".join(self._token(f"</roll dice:{self._number()}>") for _ in range(count))
        made: dict[str, Callable[[], str]] = {
            "word": self._word,
            "name": lambda: self._word() + pick([",", ";", ":"]),
            "sentence": lambda: self._words(6) + pick([".", "!", "?", "..."]),
            "quoted": lambda: f'"{self._words(12)}"',
            "bracketed": lambda: f"({self._words(12)})",
            "strong": lambda: f"**{self._words(8)}**",
            "emphasis": lambda: f"*{self._words(8)}*",
            "mention": lambda: self._token(f"<@{self._number()}>"),
            "command": lambda: self._token(f"</roll dice {pick('ab')}:{self._number()}>"),
            "emoji": lambda: self._token(f"<a:wave:{self._number()}>"),
            "timestamp": lambda: self._token(f"<t:{self._number()}:R>"),
        }
        return made[kind]()


def judge(made: Made, messages: list[str]) -> list[str]:
    """The parts that are whole in no message."""
    shown = "\n\n".join(messages)
    return [part for part in made.whole if part not in shown]


SEEDS = st.integers(0, 10**9)
SIZES = st.sampled_from([200, 1_500, 3_000, 6_000])
LIMITS = st.one_of(st.sampled_from([300, 301, 999, 1_950, 2_000]), st.integers(300, 1_950))
FLUSHES = st.one_of(st.sampled_from([1, 50, 300, 1_000, 1_900, 5_000]), st.integers(1, 2_500))


@settings(COMMON, max_examples=120)
@given(SEEDS, SIZES, LIMITS)
def test_p04_fit_cuts_no_word_span_or_token(seed: int, size: int, limit: int) -> None:
    made = Made(seed, size, limit - 4)
    assert judge(made, [message.text for message in fit(made.text, limit=limit).messages]) == []


@settings(COMMON, max_examples=120)
@given(SEEDS, SIZES, LIMITS, FLUSHES, st.integers(0, 3))
@example(14, 6_000, 1_950, 1_000, 1)
def test_p04_a_reply_is_cut_in_no_word_span_or_token(
    seed: int, size: int, limit: int, flush: int, degree: int
) -> None:
    made = Made(seed, size, limit - 4)
    chosen = {"max_message_length": limit, "flush_buffer_size": flush, "degree": degree}
    done = run([made.text], **chosen)
    assert judge(made, list(done.messages)) == []
    fits(done, limit)
    audit(done, made.text)
    steps = random.Random(seed)
    chunks = []
    at = 0
    while at < len(made.text):
        chunks.append(made.text[at : at + steps.randint(1, 40)])
        at += len(chunks[-1])
    same(done, run(chunks, **chosen))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p04_three_thousand_replies_without_a_cut_word(figure: Callable[[str], None]) -> None:
    steps = random.Random(4)
    for seed in range(3_000):
        limit = steps.randint(300, 1_950)
        made = Made(seed, 4_000, limit - 4)
        chosen = {"max_message_length": limit, "flush_buffer_size": steps.randint(1, 2_500),
                  "degree": seed % 4}  # fmt: skip
        assert judge(made, list(run([made.text], **chosen).messages)) == [], (seed, chosen)
    figure("P4: 3,000 replies of 4,000 characters, no word, code span or token cut in two")


@pytest.mark.parametrize("limit", [300, 1_950])
def test_what_is_longer_than_a_message_is_cut_and_all_else_is_not(limit: int) -> None:
    code = "`" + "a_long(call, here); " * 45 + "`"
    text = f"{'some words ' * 50}{code} {'and more words ' * 50}`and code` {'at last ' * 99}"
    done = run([text], max_message_length=limit)
    fits(done, limit)
    audit(done, text)
    assert any("`and code`" in message for message in done.messages)
    words = {"some", "words", "and", "more", "at", "last", "a_long(call,", "here);"}
    assert set(re.findall(r"[^\s`]+", " ".join(done.messages))) <= words | {"code"}
