"""P24, without atheris: recordings, texts and documents mangled by dice, and bytes from Hypothesis."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.bot.settings_file import example
from support.recordings import NAMES, recording
from support.seeds import dice, seeds
from support.slow_texts import ATOMS

CHECKS: dict[str, Callable[[bytes], None]] = {
    name: runpy.run_path(str(Path(__file__).parent / f"fuzz_{name}.py"))["check"]
    for name in ("sse", "dialects")
}
DIALECTS = ("openai", "anthropic", "google", "responses")
EVENTS = {
    dialect: sorted(
        {
            event
            for name in NAMES
            if name.startswith(dialect)
            for event in recording(name).replace(b"\r\n", b"\n").split(b"\n\n")
        }
    )
    for dialect in DIALECTS
}
WORDS = [b"null", b"{}", b"[]", b'""', b"7", b"-1", b"true", b"1e999", b"NaN", b'"\\ud83d"',
         b"\xff", b"\r", b"\n", b"\r\n", b": x\n", b"data: ", b"[DONE]", b'"error":{"message":1}',
         b'"index":0', b"[[[[[[[[", b"\xef\xbb\xbf", b"\x00", b"tool_use", b"text"]  # fmt: skip
ENDS = [b"\n\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b""]


def mangled(rng: random.Random) -> bytes:
    """A few events of one dialect, hurt in a few places."""
    dialect = rng.randrange(len(DIALECTS))
    events = EVENTS[DIALECTS[dialect]]
    data = b"".join(rng.choice(events) + rng.choice(ENDS) for _ in range(rng.randrange(1, 5)))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((0, 1, 2, 8, 40)))
        data = data[:at] + (rng.choice(WORDS) if rng.random() < 0.7 else b"") + data[to:]
    return bytes((dialect, rng.randrange(256))) + data


def check_mangled(rng: random.Random, seed: int) -> None:
    data = mangled(rng)
    CHECKS["dialects"](data)
    if seed % 4 == 0:  # byte by byte costs more, and has less to find
        CHECKS["sse"](data)


def test_p24_any_bytes_a_few() -> None:
    for seed in seeds(2_000):
        with dice(seed) as rng:
            check_mangled(rng, seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(12))
def test_p24_300_000_mangled_streams(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(25_000, part):
        with dice(seed) as rng:
            check_mangled(rng, seed)
    figure("P24: 25,000 mangled streams")


FRAGMENTS: Any = st.one_of(
    st.sampled_from(WORDS + ENDS),
    st.sampled_from([e for events in EVENTS.values() for e in events]),
    st.binary(max_size=6),
)


@given(st.binary(min_size=2, max_size=2), st.lists(FRAGMENTS, max_size=6))
def test_p24_bytes_from_hypothesis(head: bytes, parts: list[bytes]) -> None:
    for check in CHECKS.values():
        check(head + b"".join(parts))


def test_the_checks_themselves_can_fail() -> None:
    globals_of = CHECKS["dialects"].__globals__
    kept = globals_of["read"]
    globals_of["read"] = lambda adapter, pieces: kept(adapter, pieces)[: len(pieces)]
    try:
        with pytest.raises(AssertionError):
            CHECKS["dialects"](b"\x00\x80" + recording("openai-text"))
    finally:
        globals_of["read"] = kept


HERE = Path(__file__).parent
TEXT = runpy.run_path(str(HERE / "fuzz_text.py"))["check"]
INPUTS = runpy.run_path(str(HERE / "fuzz_inputs.py"))["check"]

TRACE = """{"settings": {"degree": 2, "tables": "raw", "speaker_names": ["Bob"], "mentions": {"a": "1"}}}
{"t": 0.5, "chunk": {"type": "text", "content": "Hi <think>", "thoughts": ["Hm."]}}
{"chunk": {"type": "function_call", "name": "roll", "arguments": {"sides": 6}}}
{"chunk": {"type": "error", "kind": "rate_limit", "message": "m", "retryable": true}}
{"chunk": {"type": "done", "finish_reason": "stop", "usage": {"input_tokens": 3}}}
{"stop": {"kind": "user", "requester": "1"}}
{"kill": true}
{"t": 9, "end": true}"""
SETTINGS = example().replace("\n# ", "\n").replace("\n#", "\n")
BODY = """{"content": "hi", "nonce": "n", "enforce_nonce": true, "flags": 4, "tts": false,
"allowed_mentions": {"parse": ["users"], "users": ["1"], "replied_user": true}, "embeds": [{"title": "t",
"fields": [{"name": "n", "value": "v"}], "footer": {"text": "f"}, "color": 1}], "type": 4, "data": {"content": "x"},
"components": [{"type": 1, "components": [{"type": 2, "style": 1, "label": "a", "custom_id": "a"},
{"type": 3, "custom_id": "s", "options": [{"label": "l", "value": "v"}]}]}], "name": "ask",
"description": "d", "options": [{"type": 3, "name": "q", "description": "d", "choices": [{"name": "n", "value": 1}]}],
"attachments": [{"id": 0, "filename": "a.png"}], "message_reference": {"message_id": "1"}}"""
DOCUMENTS = (TRACE, TRACE, SETTINGS, BODY)
DOCUMENT_WORDS = ["null", "{}", "[]", '""', "7", "-1", "true", "1e999", "NaN", '"\\ud83d"', "\ufffd", "\r", "\n",
         "'", '"', "[[", "]]", "=", "{", "}", "[" * 200, "9" * 500, "\x00", "\u2028", "\ud7ff", ":", ","]  # fmt: skip


def mangled_document(rng: random.Random) -> bytes:
    """A document, hurt in a few places."""
    kind = rng.randrange(len(DOCUMENTS))
    text = DOCUMENTS[kind]
    if kind == 2 and rng.random() < 0.9:  # a few lines are enough, and quicker
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        text = "\n".join(lines[at : at + rng.randrange(1, 12)])
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((0, 1, 2, 8, 40)))
        text = text[:at] + (rng.choice(DOCUMENT_WORDS) if rng.random() < 0.8 else "") + text[to:]
    return bytes([kind]) + text.encode("utf-8", "replace")


def any_text(rng: random.Random) -> bytes:
    """Some atoms, each repeated."""
    some = [
        rng.choice(ATOMS) * rng.choice((1, 1, 1, 2, 3, 20)) for _ in range(rng.randrange(1, 30))
    ]
    return bytes([rng.randrange(256), rng.randrange(256)]) + "".join(some).encode()


def test_p24_any_document_a_few() -> None:
    for seed in seeds(1_200):
        with dice(seed) as rng:
            INPUTS(mangled_document(rng))


def test_p24_any_text_a_few() -> None:
    for seed in seeds(150):
        with dice(seed) as rng:
            TEXT(any_text(rng))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(10))
def test_p24_many_more_documents_and_texts(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(10_000, part):
        with dice(seed) as rng:
            INPUTS(mangled_document(rng))
            if seed % 5 == 0:
                TEXT(any_text(rng))
    figure("P24: 10,000 documents and 2,000 texts")


def test_the_documents_are_good_ones() -> None:
    """Unhurt, each is read: what is refused is refused for its wounds."""
    scope = INPUTS.__globals__
    assert len(scope["read_trace"](TRACE.split("\n")).moments) == 7
    scope["read_form"](scope["tables"].CREATE_MESSAGE, {"content": "hi"}, scope["Rules"]())
    with pytest.raises(scope["BadTrace"]):
        scope["read_trace"](["{"])
