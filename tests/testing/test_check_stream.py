"""The laws that people check their own streams with, each of which can fail; and a reply without Discord."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import minamo
import minamo.testing
from minamo import StreamConfig, StreamResult
from minamo.core.accounting.spans import Ledger
from minamo.core.chunks import TextChunk
from minamo.core.stream import Stream
from minamo.core.trace import Moment, Trace, read_trace, trace_lines
from minamo.inspect.replay import Replayed, replay
from minamo.machine import Coverage, Machine, chart_names, compile, load
from minamo.testing import ScriptedProvider, check_stream, events, listen, results, stand_in, traces
from minamo.testing import checks as streams
from minamo.testing.audit import same
from support.seeds import examples

SAID = ["One <thi", "nk>quietly</think>", "two.\n\nThree", "\ud83d", "\ude00."]
TRACE = Trace(
    StreamConfig(humanize=False),
    (
        *(Moment(0.1 * n, "chunk", chunk=TextChunk(part)) for n, part in enumerate(SAID)),
        Moment(2.0, "end"),
    ),
)


@settings(max_examples=examples(50, 2_000))
@given(traces())
def test_p01_p02_p03_p04_whatever_happens_the_laws_hold(trace: Trace) -> None:
    check_stream(trace)


def test_it_says_how_the_stream_went() -> None:
    done = check_stream(TRACE)
    assert done.result.status == "completed"
    assert done.thoughts == ("quietly",)


def lawless(change: Callable[[Replayed, Trace], Replayed]) -> Callable[[Trace], Replayed]:
    return lambda trace: change(replay(trace), trace)


def changed(replayed: Replayed, **fields: Any) -> Replayed:
    return evolve(replayed, result=evolve(replayed.result, **fields))


FAULTS: dict[str, Callable[[Replayed, Trace], Replayed]] = {
    "no outcome of the chart": lambda done, _: changed(done, status="streaming"),
    "no row of the chart leads from in_code to completed": lambda done, _: changed(
        done, states=("opening", "in_code", "completed")
    ),
    "message 0 has 4000 characters": lambda done, _: evolve(done, messages=("x" * 4_000,)),
    "message 0 begins or ends blank": lambda done, _: evolve(done, messages=(" x",)),
    "thoughts depends on how text was cut": lambda done, trace: (
        evolve(done, thoughts=()) if len(trace.moments) > 6 else done
    ),
    "are lost": lambda done, _: evolve(done, batches=done.batches[:1]),
    "shown twice": lambda done, _: evolve(done, batches=done.batches * 2),
    "the ledger does not add up": lambda done, _: changed(done, suppressed={"killed": 1}),
}


@pytest.mark.parametrize("law", FAULTS)
def test_a_broken_law_is_named_and_can_be_replayed(
    law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "replay", lawless(FAULTS[law]))
    with pytest.raises(AssertionError, match=law) as found:
        check_stream(TRACE)
    lines = str(found.value).partition("minamo replay` with them:\n")[2].splitlines()
    assert read_trace(lines) == TRACE


def test_a_stream_that_alters_text_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Stream.chunk

    def shout(self: Stream, chunk: Any) -> None:
        real(self, TextChunk(chunk.content.upper()) if isinstance(chunk, TextChunk) else chunk)

    monkeypatch.setattr(Stream, "chunk", shout)
    with pytest.raises(AssertionError, match=r"characters were altered: \[0,"):
        check_stream(evolve(TRACE, moments=(Moment(0.0, "chunk", chunk=TextChunk("said")),)))


def test_a_ledger_that_forgets_is_caught_whatever_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "suppress", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="are lost"):
        check_stream(TRACE)


def test_an_exception_is_a_broken_law_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Stream, "end", fail)
    with pytest.raises(AssertionError, match="it raised RuntimeError"):
        check_stream(TRACE)


@given(traces())
def test_a_trace_that_was_written_down_is_the_same_life(trace: Trace) -> None:
    again = evolve(read_trace(trace_lines(trace.moments)), config=trace.config)
    same(replay(trace), replay(again))


def test_results_have_every_outcome() -> None:
    found: Counter[str] = Counter()

    @settings(max_examples=20)
    @given(results())
    def count(result: StreamResult) -> None:
        found[result.status] += 1

    outcomes = [leaf.id for leaf in load("stream").leaves if leaf.final]
    for round_seed in range(10):
        if len(found) < len(outcomes):
            seed(round_seed)(count)()
    assert sorted(found) == sorted(outcomes)


@pytest.mark.parametrize("name", chart_names())
def test_events_take_every_row_that_guards_let_pass(name: str) -> None:
    chart = load(name)
    coverage = Coverage(chart)

    actors = stand_in(chart)
    table = compile(chart, actors)

    @settings(max_examples=50)
    @given(events(chart), st.integers(0, 2**32))
    def walk(sequence: list[str], dice_seed: int) -> None:
        dice = random.Random(dice_seed)
        actor = actors(lambda _guard: dice.random() < 0.5)
        machine = Machine(table, actor)
        machine.subscribe(coverage)
        for event in sequence:
            machine.send(event)
        assert set(actor.calls) <= set(chart.actions)

    rounds = 0
    while coverage.missing and rounds < 100:
        seed(rounds)(walk)()
        rounds += 1
    assert not coverage.missing, str(coverage)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ModuleNotFoundError(name='hypothesis')\n")
    program = (
        "from minamo.testing import ScriptedProvider, check_adapter, listen\n"
        "try:\n    from minamo.testing import traces\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert done.stdout.strip() == (
        "minamo.testing.traces needs hypothesis: pip install 'hikari-minamo[testing]'"
    )


def test_the_public_names_are_pinned() -> None:
    assert minamo.testing.__all__ == [
        "Heard", "Moment", "ScriptedProvider", "TextPass", "Trace", "as_chunks", "check_adapter", "check_stream", "events",
        "listen", "markdown_texts", "results", "run_turn", "run_with_virtual_clock", "stand_in", "texts", "traces",
    ]  # fmt: skip
    for name in minamo.testing.__all__:
        assert getattr(minamo.testing, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        minamo.testing.nothing  # type: ignore[attr-defined]  # noqa: B018


PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


@pytest.mark.timeout(180)
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_block_{number}.py").write_text(block, encoding="utf-8")
    # A busy computer is no reason to fail, and the examples are the same each time.
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import HealthCheck, settings\n"
        "settings.register_profile('page', deadline=None, derandomize=True, max_examples=20,"
        " suppress_health_check=list(HealthCheck))\n"
        "settings.load_profile('page')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{len(blocks) + 1} passed" in done.stdout


BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@pytest.mark.anyio
@BOTH
async def test_what_a_channel_would_have_been_sent() -> None:
    heard = await listen(ScriptedProvider(["One.\n\n<think>h", "m</think>Two."]))
    assert heard.messages == ["One.", "Two."]
    assert heard.result.status == "completed"
    assert heard.result.thought_log == ("hm",)


@pytest.mark.anyio
@BOTH
async def test_any_text_that_comes_and_a_setting() -> None:
    async def words() -> AsyncIterator[str]:
        for word in ("One.\n", "Two."):
            yield word

    heard = await listen(words(), minamo.StreamConfig(degree=2))
    assert heard.messages == ["One.", "Two."]


@pytest.mark.anyio
@BOTH
async def test_a_failure_is_a_result() -> None:
    broken = minamo.ErrorChunk("rate_limit", "too many", retryable=True)
    heard = await listen(ScriptedProvider(["Half", broken]))
    assert (heard.messages, heard.result.status, heard.result.data) == (["Half"], "error", broken)
