"""Text is conserved and fits, and chunking does not matter: with texts that find faults."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minamo.core.chunks import TextChunk
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import replay
from minamo.testing.strategies import markdown_texts, texts
from support.audit import audit, fits, run, same
from support.seeds import dice, seeds

SETTINGS: list[dict[str, object]] = [
    {},
    {"degree": 0},
    {"degree": 2},
    {"degree": 3},
    {"degree": 3, "humanize": True},
    {"max_message_length": 100},
    {"flush_buffer_size": 50, "degree": 2},
    {"flush_buffer_size_code_block": 80, "max_message_length": 120},
    {"send_message_limit": 2},
    {"prefill": "a a"},
    {"speaker_names": ["Bob", "a"], "bot_name": "Bob"},
    {"generic_speaker_guard": True, "degree": 2},
    {"speaker_names": ["Bob", "a"], "guard_first_line": True, "generic_speaker_guard": True},
    {"tables": "bullets"},
    {"tables": "raw"},
    {"clean_off": ["invisible", "masked_link", "blank_lines"]},
    {"mentions": {"everyone": "5"}},
]
ENDINGS = ["end", "end", "end", "stop", "kill", "follow_up", "delivery_lost", ""]

marked = st.lists(
    st.one_of(
        texts(3),
        st.sampled_from(
            ["<think>", "</think>", "<details>", "</details>", "<think/>", "\n```py\n", "\n```\n",
             "<summary>s</summary>", "\nBob: ", "</thi", "Sentence. ", "\n\n", "[system: x]"]
        ),
    ),
    max_size=8,
).map("".join)  # fmt: skip
any_text = st.one_of(marked, marked, markdown_texts(4))


def clean(text: str) -> str:
    """Lone surrogates are counted apart; here every character stands for itself."""
    return "".join(char for char in text if not "\ud800" <= char <= "\udfff")


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in itertools.pairwise(places)]
    return [part for part in parts if part]


@given(any_text, st.lists(st.integers(0, 10**6), max_size=10), st.sampled_from(SETTINGS),
       st.sampled_from(ENDINGS))  # fmt: skip
@example("```" + "<summary>s</summary>" * 60, [3, 700], {"degree": 3}, "follow_up")
@example("\n\n`````<details><details>\nBob: </details> x", [], {"speaker_names": ["Bob"]}, "end")
@example("\n```\nx", [], {"prefill": "a a"}, "end")
def test_p02_p03_p04_text_is_conserved_fits_and_does_not_depend_on_chunks(
    text: str, cuts: list[int], chosen: dict[str, object], ending: str
) -> None:
    text = clean(text)
    whole = run([text], ending=ending, **chosen)
    audit(whole, text)
    fits(whole, int(str(chosen.get("max_message_length", 1950))))
    same(whole, run(pieces(text, cuts) or [""], ending=ending, **chosen))
    if len(text) < 600:
        same(whole, run(list(text) or [""], ending=ending, **chosen))


UNIQUE = [chr(0x4E00 + n) for n in range(20_000)]  # each appears at most once in a text
BETWEEN = ["<think>", "</think>", "<details>", "</details>", "\n```\n", "**", "||", "`", "\n\n", " ",
           ". ", "\n", "_", "~~", "> ", "- ", "| ", "<think/>"]  # fmt: skip


def tracer(rng: random.Random) -> str:
    letters = iter(UNIQUE)
    parts = []
    for _ in range(rng.choice([1, 2, 4, 8, 16, 40])):
        run_of = rng.choice([1, 1, 1, 2, 2, 3, 3, 30, 65, 400])
        parts.append("".join(itertools.islice(letters, run_of)))
        parts.append(rng.choice(BETWEEN) * rng.choice([1, 1, 1, 2, 3]))
    return "".join(parts)


def letters_of(text: str) -> list[str]:
    return [char for char in text if char >= UNIQUE[0]]


def check_tracer(rng: random.Random) -> None:
    text = tracer(rng)
    chosen = rng.choice(SETTINGS[:9])
    cuts = [rng.randrange(10**6) for _ in range(5)]
    done = run(pieces(text, cuts), **{"clean_off": list(RULES), **chosen})
    audit(done, text)
    fits(done, int(str(chosen.get("max_message_length", 1950))))
    # Every unique character is in exactly one place, by its face and not by our books.
    said = letters_of(text)
    shown = letters_of("".join(done.messages))
    aside = letters_of("".join(done.thoughts) + "".join(done.details))
    assert sorted(shown) == shown, "out of order"
    found = set(shown) | set(aside)
    assert len(found) == len(shown) + len(aside), "doubled"
    missing = set(said) - found
    assert len(missing) <= sum(done.result.suppressed.values())
    assert not missing or "send_message_limit" in chosen, sorted(missing)[:5]


def test_p03_p04_every_unique_character_arrives_once_and_in_order() -> None:
    for seed in seeds(250):
        with dice(seed) as rng:
            check_tracer(rng)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(20))
def test_p03_p04_100_000_tracers(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(5_000, part):
        with dice(seed) as rng:
            check_tracer(rng)
    figure("P3: 5,000 tracer texts")


BITS = ["a", " ", ".", "\n", "`", "<", "<think>", "</think>", "\n```\n", "**", "(", "word "]


def check_chunking(rng: random.Random) -> int:
    """Whole, in pieces and one by one; how many chunks that were."""
    long = rng.random() < 0.014  # most faults hide in short texts, some only in long runs
    runs = [1, 1, 2, 3, 64, 65, 130] if long else [1, 1, 1, 2, 3]
    text = "".join(rng.choice(BITS) * rng.choice(runs) for _ in range(rng.randint(1, 14)))
    some = pieces(text, [rng.randrange(10**6) for _ in range(3)])
    whole = run([text])
    same(whole, run(some))
    same(whole, run(list(text)))
    return 1 + len(some) + len(text)


def test_p02_chunking_does_not_matter() -> None:
    for seed in seeds(250):
        with dice(seed) as rng:
            check_chunking(rng)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(50))
def test_p02_ten_million_chunks(part: int, figure: Callable[[str], None]) -> None:
    """In all parts together, of 250,000 texts."""
    cases = chunks = 0
    for seed in seeds(5_000, part):
        with dice(seed) as rng:
            chunks += check_chunking(rng)
            cases += 1
    figure(f"P2: {cases:,} texts, {chunks:,} chunks")
    assert chunks >= 200_000


def test_p08_same_in_same_out_whatever_the_hash_seed() -> None:
    program = (
        "from minamo.core.chunks import TextChunk; from minamo.core.config import StreamConfig;"
        "from minamo.inspect.replay import replay; from minamo.core.trace import Moment, Trace;"
        "t = 'A (b) **c** <think>d</think>\\n\\n```py\\ne\\n```\\n[f](http://g) @h ' * 50;"
        "c = StreamConfig(degree=3, mentions={'h': '1'}, humanize_seed=4);"
        "print(replay(Trace(c, (Moment(0, 'chunk', chunk=TextChunk(t)), Moment(0, 'end')))).summary())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "99")
    }  # fmt: skip
    assert len(outputs) == 1


def test_a_stop_at_the_time_of_a_chunk_is_taken_first() -> None:
    chunk = Moment(1.0, "chunk", chunk=TextChunk("b"))
    trace = Trace(
        StreamConfig(), (Moment(0.0, "chunk", chunk=TextChunk("a")), Moment(1.0, "stop"), chunk)
    )
    assert replay(trace).messages == ("a",)
