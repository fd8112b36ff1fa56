"""Bounded and linear: a long stream takes no more room than a short one, and no more time for each
character.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minamo.core.chunks import TextChunk
from minamo.core.cleaning.clean import clean
from minamo.core.config import HumanizerDegree, StreamConfig
from minamo.core.fitting.compose import compose
from minamo.core.fitting.fit import fit_front
from minamo.core.lexing.lexer import Lexer
from minamo.core.lexing.segmenter import Buffer
from minamo.core.limits import AGGREGATE_MAX
from minamo.core.stream import LIVE, Stream
from support.seeds import dice, seeds
from support.slow_texts import LIMIT_S, WAYS, Way, held, held_alone, search, told, told_stream


@pytest.mark.parametrize(
    "atom", ["a", " ", ".", "\n", "`", "<", "(", "<think>", "**", "| a |\n", "```\n"]
)
def test_p06_what_is_held_is_bounded(atom: str) -> None:
    text = atom * (20_000 // len(atom))  # twenty times what may be held
    lexer, buffer = Lexer(), Buffer(1, 1_000, 15_000, 1_950)
    live = LIVE["streaming"]
    lexer.add(text[:1_000])
    tracemalloc.start()
    try:
        for at in range(1_000, len(text), 50):
            lexer.add(text[at : at + 50])
            while (token := lexer.next(live)) is not None:
                buffer.add(token.text, token.start)
            buffer.ready.clear()
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(lexer.held) <= 1_050
    assert len(buffer) <= 2_000
    assert held < 1_048_576


SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
ENOUGH = 20_000
"""So much of a hostile text fills the path through the chart and, said twice, the spans."""


def held_by(stream: Stream) -> tuple[int, int]:
    """The bytes and the characters that a stream holds besides the parts of its result."""
    actions = stream.actions
    results = [actions.model_parts, actions.outbox._said, actions.captures.blocks]
    results += [actions.ledger.spans]
    seen = {id(stream), *map(id, results)}
    left: list[object] = [stream]
    size = characters = 0
    while left:
        found = left.pop()
        size += sys.getsizeof(found)
        characters += len(found) if isinstance(found, str) else 0
        for part in gc.get_referents(found):
            if id(part) not in seen and not isinstance(part, SHARED):
                seen.add(id(part))
                left.append(part)
    return size, characters


def tell(stream: Stream, text: str) -> None:
    """Let a stream read *text*, whose messages all arrive."""
    for at in range(0, len(text), 500):
        stream.chunk(TextChunk(text[at : at + 500]))
        while messages := stream.actions.outbox.take():
            stream.delivered(len(messages))
        stream.take_effects()


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\n", "`", "<", "(", "A b.\n\n", "| a |\n", "```\n", "[a](http://b) ", "\u200ba",
     "<think>a</think>b", "<think></think>", "> **b\n", "<a b ", "~~~x\ny"],
    ids=ascii,
)  # fmt: skip
def test_p06_a_stream_holds_its_reply_and_no_more(unit: str) -> None:
    stream = Stream()
    _, own = held_by(stream)
    text = unit * (2 * ENOUGH // len(unit))
    tell(stream, text[:ENOUGH])
    before, _ = held_by(stream)
    tell(stream, text[ENOUGH:])
    after, characters = held_by(stream)
    assert after - before < 16_384
    assert characters - own < 17_000  # a code block, and what the lexer has not decided
    assert len(stream.actions.ledger.spans) <= 10_000
    assert len(stream.machine.path or ()) <= 2_000


def test_p06_thoughts_have_a_limit() -> None:
    stream = Stream()
    for _ in range(15):
        tell(stream, f"<think>{'a' * 40_000}</think>b")
        stream.chunk(TextChunk("b", thoughts=("a" * 40_000,)))
    for _ in range(100):  # nothing more is kept, nor a note that there was something
        tell(stream, "<think>a</think><think></think>b")
        stream.chunk(TextChunk("b", thoughts=("a",)))
    stream.end()
    stream.flushed()
    assert sum(map(len, stream.result().thought_log)) == 1_000_000
    assert len(stream.actions.captures.blocks) <= 30


ATOMS = ["a", " ", ".", "\n", "`", "<", "(", "**", "word ", "| a |\n", "```x", "\n\n", "<b>", "好"]
RUNS = [1, 2, 3, 64, 65, 130, 999, 1_000, 1_001]


def flood(rng: random.Random, length: int) -> tuple[int, int]:
    """How much was said, and by how much what is held was ever larger than at the start."""
    lexer, buffer = Lexer(), Buffer(1, 1_000, 15_000, 1_950)
    size, base = 0, 0
    tracemalloc.start()
    try:
        while size < length:
            said = rng.choice(ATOMS) * rng.choice(RUNS)
            size += len(said)
            lexer.add(said)
            while (token := lexer.next(LIVE["streaming"])) is not None:
                if token.event == "text":
                    buffer.add(token.text, token.start)
            buffer.ready.clear()
            base = base or tracemalloc.get_traced_memory()[0]
        return size, tracemalloc.get_traced_memory()[1] - base
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(5))
def test_p06_an_endless_stream_takes_no_more_room(part: int, figure: Callable[[str], None]) -> None:
    with dice(seeds(1, part)[0]) as rng:
        size, grown = flood(rng, 5_000_000)
        figure(f"P6: {size:,} characters, at most {grown / 1024:.0f} KiB more than at the start")
        assert grown < 262_144


def cost(text: str) -> float:
    begin = time.process_time()
    for _ in range(max(1, 40_000 // len(text))):
        lexer, buffer = Lexer(), Buffer(1, 1_000, 15_000, 1_950)
        for at in range(0, len(text), 4):
            lexer.add(text[at : at + 4])
            while (token := lexer.next(LIVE["streaming"])) is not None:
                buffer.add(token.text, token.start)
            buffer.ready.clear()
    return (time.process_time() - begin) / (max(1, 40_000 // len(text)) * len(text))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "atom", ["a", " ", ".", "\n", "`", "` ", "<", "<t", "(", '"', "*", "|", "~", "a. "]
)
def test_p07_time_is_linear(atom: str, figure: Callable[[str], None]) -> None:
    small = min(cost((atom * 10_000)[:10_000]) for _ in range(5))
    large = min(cost((atom * 1_000_000)[:1_000_000]) for _ in range(2))
    figure(
        f"P7: {atom!r} costs {large / small:.2f} times as much per character at 1 MB as at 10 KB"
    )
    assert large / small < 2.0


@pytest.mark.parametrize("name", WAYS)
def test_p07_no_text_holds_the_event_loop(name: str) -> None:
    found = search(name, random.Random(name), 15)
    assert found.seconds < LIMIT_S, told(name, found)


PARTS = 40
TEXTS = 100_000 // len(WAYS) // PARTS


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", WAYS)
def test_p07_no_text_that_a_search_finds_holds_the_event_loop(
    name: str, part: int, figure: Callable[[str], None]
) -> None:
    seed = seeds(1, part)[0]
    found = search(name, random.Random(f"{seed} {name}"), TEXTS)
    figure(f"P7: {told(name, found)}")
    assert found.seconds < LIMIT_S, f"seed={seed}: {told(name, found)}"


# Each once took 100 ms and more, for 200,000 characters were cleaned in one step.
UNITS = ["`a", "```\n", "[a](https://b.c ", "\u200b# ", "\ufe0f\ufe0f`", "|-|\n|-|\n```\n```\n"]


@pytest.fixture
def own_garbage() -> Iterator[None]:
    """Let the collector look at the objects of the reply only, not at those of all other tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_p07_a_long_aggregated_reply_holds_nobody_up(unit: str) -> None:
    way = told_stream(degree=0)
    text = (unit * 30_000)[:30_000]
    assert len(text) > 3 * AGGREGATE_MAX
    seconds = held(way, text)
    if seconds >= LIMIT_S:
        seconds = held_alone(way, text, seconds)
    assert seconds < LIMIT_S


def spent(way: Way, text: str) -> tuple[float, float]:
    """The processor seconds of the longest step, and of all of them for each character."""
    steps = []
    for step in way(text):
        begin = time.process_time()
        step()
        steps.append(time.process_time() - begin)
    return max(steps), sum(steps) / len(text)


LONG = [
    *(
        "`",
        "a",
        "a b. ",
        "`a",
        "```\n",
        "<a b",
        "> **b\n",
        "[a](https://b.c) ",
        "\u200ba",
        "(",
        "_a ",
    ),
    *("| a | b |\n|---|---|\n", "<think>", "<think>a</think>b", "A.\n\n"),
]


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize("unit", LONG, ids=ascii)
def test_p07_a_long_reply_is_as_cheap_as_a_short_one(unit: str) -> None:
    way = told_stream()
    for _ in range(4):
        _, small = spent(way, (unit * 4_000)[:4_000])
        longest, large = spent(way, (unit * 32_000)[:32_000])
        if longest < 0.8 * LIMIT_S and large < 2.5 * small:
            break
    else:
        text = (unit * 32_000)[:32_000]
        assert held_alone(way, text, longest) < LIMIT_S
        assert large < 2.5 * small, f"{large / small:.1f} times as much"


@pytest.mark.parametrize(
    "text", ["a b. ", "A.\n\n", "x", "|a|b\n|-|-\n", "```\nx\n", "> a "], ids=ascii
)
def test_p07_no_step_is_given_more_than_its_share(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, list[int]] = {"fitted": [], "cleaned": []}

    def fitted(part: str, *arguments: Any, **settings: Any) -> Any:
        sizes["fitted"].append(len(part))
        return compose(part, *arguments, **settings)

    def cleaned(part: str, *arguments: Any, **settings: Any) -> Any:
        sizes["cleaned"].append(len(part))
        return clean(part, *arguments, **settings)

    monkeypatch.setattr("minamo.core.fitting.fit.compose", fitted)
    monkeypatch.setattr("minamo.core.accounting.outbox.clean", cleaned)
    for way in (told_stream(), told_stream(degree=0), WAYS["a lane that is behind"]):
        held(way, "```\n" + text * (20_000 // len(text)))
        held(way, text * (20_000 // len(text)))
    assert max(sizes["fitted"]) <= 4_200
    assert max(sizes["cleaned"]) <= 15_500


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_p07_text_that_waits_is_not_handled_again_with_each_message(
    degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def counted(text: str, **settings: Any) -> Any:
        sizes.append(len(text))
        return fit_front(text, **settings)

    monkeypatch.setattr("minamo.core.accounting.outbox.fit_front", counted)
    stream = Stream(StreamConfig(degree=HumanizerDegree(degree), humanize=False))
    text = "The cat sat on the mat, and it was content. So was I.\n\n" * 1_000
    stream.chunk(TextChunk(text))
    stream.end()
    while stream.actions.outbox.waiting:
        stream.delivered(len(stream.actions.outbox.take()))
    assert len(text) - 2 <= sum(sizes) <= 2 * len(text)


@pytest.mark.parametrize("header", ["*x* " * 14, "x" * 58])
def test_p07_a_table_of_single_letters_stays_small(header: str) -> None:
    text = f"| {header} | b |\n|---|---|\n" + "|a|b\n" * 2_000
    stream = Stream()
    stream.chunk(TextChunk(text))
    stream.end()
    shown = 0
    while stream.actions.outbox.waiting:
        messages = stream.actions.outbox.take()
        shown += sum(len(message.text) for message in messages)
        stream.delivered(len(messages))
    assert shown <= 5 * len(text)
