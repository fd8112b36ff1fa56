"""P24 for texts and documents, without atheris: small corpora mangled by dice."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from minamo.bot.settings_file import example
from support.seeds import dice, seeds
from support.slow_texts import ATOMS

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
WORDS = ["null", "{}", "[]", '""', "7", "-1", "true", "1e999", "NaN", '"\\ud83d"', "\ufffd", "\r", "\n",
         "'", '"', "[[", "]]", "=", "{", "}", "[" * 200, "9" * 500, "\x00", "\u2028", "\ud7ff", ":", ","]  # fmt: skip


def mangled(rng: random.Random) -> bytes:
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
        text = text[:at] + (rng.choice(WORDS) if rng.random() < 0.8 else "") + text[to:]
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
            INPUTS(mangled(rng))


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
            INPUTS(mangled(rng))
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
