"""The promises about text, with texts that find faults and events in any order."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from books import audit, fits, run, same
from minamo.core.buffer import Buffer
from minamo.core.chunks import Call, Done, Error, FunctionCall, Text
from minamo.core.config import StreamConfig
from minamo.core.markers import Markers
from minamo.core.stream import LIVE, Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import replay
from minamo.testing.sayings import markdown_texts, texts

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
    limit = chosen.get("max_message_length", 1950)
    assert isinstance(limit, int)
    fits(whole, limit)
    same(whole, run(pieces(text, cuts) or [""], ending=ending, **chosen))
    if len(text) < 600:
        same(whole, run(list(text) or [""], ending=ending, **chosen))


UNIQUE = [chr(0x4E00 + n) for n in range(20_000)]  # each appears at most once in a text
BETWEEN = ["<think>", "</think>", "<details>", "</details>", "\n```\n", "**", "||", "`", "\n\n", " ",
           ". ", "\n", "_", "~~", "> ", "- ", "| ", "<think/>"]  # fmt: skip


def tracer(rng: random.Random) -> str:
    letters = iter(UNIQUE)
    parts = []
    for _ in range(rng.randint(1, 40)):
        parts.append("".join(itertools.islice(letters, rng.choice([1, 1, 2, 3, 30, 65, 400]))))
        parts.append(rng.choice(BETWEEN) * rng.choice([1, 1, 1, 2, 3]))
    return "".join(parts)


def check_tracers(cases: int, seed: int) -> None:
    for number in range(cases):
        rng = random.Random(seed + number)
        text = tracer(rng)
        chosen = rng.choice(SETTINGS[:9])
        off = {"clean_off": ["template", "system_leak", "own_name", "blank_lines", "invisible",
                             "masked_link", "mention"]}  # fmt: skip
        done = run(pieces(text, [rng.randrange(10**6) for _ in range(5)]), **{**off, **chosen})
        audit(done, text)
        # Every unique character is in exactly one place, by its face and not by our books.
        seen = Counter("".join(done.messages) + "".join(done.thoughts) + "".join(done.details))
        hidden = sum(done.result.suppressed.values())
        unique = [char for char in text if char >= "\u4e00"]
        assert all(seen[char] <= 1 for char in unique), number
        missing = [char for char in unique if not seen[char]]
        assert len(missing) <= hidden
        if "send_message_limit" not in chosen:
            assert not missing, (seed + number, missing[:5])
            shown = [char for char in "".join(done.messages) if char >= "\u4e00"]
            order = {char: n for n, char in enumerate(unique)}
            assert [order[char] for char in shown] == sorted(order[char] for char in shown)


def test_p03_every_unique_character_arrives_once_and_in_order() -> None:
    check_tracers(250, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_p03_many_unique_characters(figure: Callable[[str], None]) -> None:
    check_tracers(20_000, seed=10_000)
    figure("P3: 20,000 tracer texts")


def test_p05_hidden_text_never_shows_wherever_tags_are_cut() -> None:
    secret, open_text = "SECRET" * 3, "OPEN" * 5
    for template in (
        f"{open_text}<think>{secret}</think>{open_text}",
        f"<THINK a='b'>{secret}</Think>{open_text}<details>{secret}</details>",
        f"{open_text}\n\n<think>{secret}<think>{secret}</think>{secret}</think>\n\n{open_text}",
        f"```\n{open_text}\n```\n<reasoning>{secret}",
        f"{secret}</think>{open_text}",
    ):
        whole = run([template])
        assert "SECRET" not in "".join(whole.messages)
        assert open_text in "".join(whole.messages)
        for one in range(1, len(template)):
            for two in range(one, min(one + 12, len(template))):
                parts = [template[:one], template[one:two], template[two:]]
                same(whole, run([part for part in parts if part]))


# P1: any facts in any order.

FACTS: dict[str, Callable[[Stream], None]] = {
    "text": lambda s: s.chunk(Text("Hello there.\n\nMore <thi")),
    "marker": lambda s: s.chunk(Text("nk>x</think>\n```py\n1\n```\n")),
    "call": lambda s: s.chunk(FunctionCall((Call("f"),))),
    "error": lambda s: s.chunk(Error("api_error")),
    "done": lambda s: s.chunk(Done("stop")),
    "end": lambda s: s.end(),
    "stop": lambda s: s.stop("7"),
    "follow_up": lambda s: s.follow_up(),
    "silence": lambda s: s.silent(),
    "kill": lambda s: s.kill(),
    "lost": lambda s: s.delivery_lost(),
    "limit": lambda s: s.limit_reached(),
    "overran": lambda s: s.overran(),
    "flushed": lambda s: s.flushed(),
    "send": lambda s: s.delivered(len(s.actions.outbox.take())),
}
CORE = ["text", "marker", "call", "error", "end", "stop", "follow_up", "flushed"]


def live_through(facts: list[str]) -> Stream:
    stream = Stream(StreamConfig(humanize=False))
    outcome = ""
    for fact in facts:
        FACTS[fact](stream)
        if outcome:
            assert stream.state == outcome, facts
        elif stream.ended:
            outcome = stream.state
    if not stream.ended:
        stream.end()
        stream.delivered(len(stream.actions.outbox.take()))
        stream.flushed()
    assert stream.ended
    assert stream.result().status == stream.state
    assert stream.result().states[-1] == stream.state
    return stream


@given(st.lists(st.sampled_from(sorted(FACTS)), max_size=50))
def test_p01_any_facts_in_any_order_give_one_outcome(facts: list[str]) -> None:
    live_through(facts)


def test_p01_every_short_sequence_of_facts() -> None:
    outcomes = Counter(
        live_through(list(facts)).state
        for length in range(4)
        for facts in itertools.product(CORE, repeat=length)
    )
    assert {"completed", "function_call", "error", "stopped_by_user", "follow_up_interrupt",
            "empty_response"} <= set(outcomes)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_p01_every_sequence_of_facts_up_to_five(figure: Callable[[str], None]) -> None:
    count = 0
    for length in range(6):
        for facts in itertools.product(CORE, repeat=length):
            live_through(list(facts))
            count += 1
    figure(f"P1: {count} exhaustive sequences of facts")
    assert count == 37_449


@pytest.mark.slow
@pytest.mark.timeout(2_400)
def test_p02_ten_million_chunks(figure: Callable[[str], None]) -> None:
    chunks = cases = 0
    seed = 0
    while chunks < 10_000_000:
        rng = random.Random(seed)
        seed += 1
        text = "".join(
            rng.choice(
                [
                    "a",
                    " ",
                    ".",
                    "\n",
                    "`",
                    "<",
                    "<think>",
                    "</think>",
                    "\n```\n",
                    "**",
                    "(",
                    "word ",
                ]
            )
            * rng.choice([1, 1, 2, 3, 64, 65, 130])
            for _ in range(rng.randint(1, 14))
        )
        whole, single = run([text]), run(list(text) or [""])
        same(whole, single)
        chunks += len(text)
        cases += 1
    figure(f"P2: {cases} texts, {chunks} chunks")


# P6, P7: bounded and linear.


@pytest.mark.parametrize(
    "atom", ["a", " ", ".", "\n", "`", "<", "(", "<think>", "**", "| a |\n", "```\n"]
)
def test_p06_what_is_held_is_bounded(atom: str) -> None:
    text = atom * (100_000 // len(atom))
    lexer, buffer = Markers(), Buffer(1, 1_000, 15_000, 1_950)
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


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_p06_an_endless_stream_takes_no_more_room(figure: Callable[[str], None]) -> None:
    lexer, buffer = Markers(), Buffer(1, 1_000, 15_000, 1_950)
    rng = random.Random(6)
    atoms = [
        "a",
        " ",
        ".",
        "\n",
        "`",
        "<",
        "(",
        "**",
        "word ",
        "| a |\n",
        "```x",
        "\n\n",
        "<b>",
        "好",
    ]
    size, base = 0, 0
    tracemalloc.start()
    try:
        while size < 25_000_000:
            run_of = rng.choice(atoms) * rng.choice([1, 2, 3, 64, 65, 130, 999, 1_000, 1_001])
            size += len(run_of)
            lexer.add(run_of)
            while (token := lexer.next(LIVE["streaming"])) is not None:
                if token.event == "text":
                    buffer.add(token.text, token.start)
            buffer.ready.clear()
            base = base or tracemalloc.get_traced_memory()[0]
        grown = tracemalloc.get_traced_memory()[0] - base
    finally:
        tracemalloc.stop()
    figure(f"P6: {size:,} characters, {grown / 1024:.0f} KiB grown")
    assert grown < 1_048_576


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_p05_every_two_cuts_of_hidden_blocks(figure: Callable[[str], None]) -> None:
    secret, splits = "SECRET" * 4, 0
    for template in (
        "Some open text. <think>{}</think> And more open text here, to be long enough.\n\nEnd." ,
        "<THINK a='b'>{}</Think>Text.\n\n<details open><summary>s</summary>{}</details>Then `<b>`",
        "Text <think>{}<think>{}</think>{}</think>\n\nafter ``<think>`` and ` lone <think>{}</think>",
        "```py\n<think>open</think>\n```\n<reasoning>{}</reasoning>\n```\nx\n```\n<thought>{}",
        "{}</think>Open text that is shown, with some more of it.\n\nAnd a paragraph < b.",
        "A <ns:think>{}</ns:think> B <think/> C <details>{}</details> D </details> E </thi",
    ):  # fmt: skip
        text = template.replace("{}", secret)
        whole = run([text])
        assert "SECRET" not in "".join(whole.messages)
        for one in range(1, len(text)):
            for two in range(one, len(text)):
                done = run([part for part in (text[:one], text[one:two], text[two:]) if part])
                assert done.messages == whole.messages
                assert done.thoughts == whole.thoughts
                splits += 1
    figure(f"P5: {splits} splits")


def cost(text: str) -> float:
    begin = time.process_time()
    for _ in range(max(1, 40_000 // len(text))):
        lexer, buffer = Markers(), Buffer(1, 1_000, 15_000, 1_950)
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


def test_p08_same_in_same_out_whatever_the_hash_seed() -> None:
    program = (
        "from minamo.core.chunks import Text; from minamo.core.config import StreamConfig;"
        "from minamo.inspect.replay import replay; from minamo.core.trace import Moment, Trace;"
        "t = 'A (b) **c** <think>d</think>\\n\\n```py\\ne\\n```\\n[f](http://g) @h ' * 50;"
        "c = StreamConfig(degree=3, mentions={'h': '1'}, humanize_seed=4);"
        "print(replay(Trace(c, (Moment(0, 'chunk', chunk=Text(t)), Moment(0, 'end')))).summary())"
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
    chunk = Moment(1.0, "chunk", chunk=Text("b"))
    trace = Trace(
        StreamConfig(), (Moment(0.0, "chunk", chunk=Text("a")), Moment(1.0, "stop"), chunk)
    )
    assert replay(trace).messages == ("a",)
