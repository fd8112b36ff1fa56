"""What all contestants get: replies as frames of each dialect, texts, and documents."""

from __future__ import annotations

import json
import random
from typing import Any

#: Dialects, with the path of their requests.
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/m:streamGenerateContent",
}
_WORDS = ["The ", "surface ", "of ", "the ", "water ", "shows ", "what ", "moves ", "below. "]


def words(count: int) -> list[str]:
    """Return a reply of so many chunks, a word each."""
    return [_WORDS[number % len(_WORDS)] for number in range(count)]


def frames(dialect: str, said: list[str]) -> list[str]:
    """Return a whole reply as a provider writes it, a server-sent event per chunk."""
    return {
        "openai": _openai,
        "responses": _responses,
        "anthropic": _anthropic,
        "google": _google,
    }[dialect](said)


def _openai(said: list[str]) -> list[str]:
    def frame(delta: dict[str, str], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body = {
            "id": "chatcmpl-C1a2b3c4d5e6f7g8h9",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": "gpt-5-mini-2025-08-07",
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": [choice],
            "usage": None,
        }
        return f"data: {json.dumps(body)}\n\n"

    texts = [frame({"content": word}) for word in said]
    return [frame({"role": "assistant", "content": ""}), *texts, frame({}, "stop"),
            "data: [DONE]\n\n"]  # fmt: skip


def _responses(said: list[str]) -> list[str]:
    response: dict[str, Any] = {
        "id": "resp_1", "object": "response", "created_at": 1_760_000_000, "model": "m",
        "status": "in_progress", "output": [], "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "temperature": 1.0, "top_p": 1.0,
    }  # fmt: skip
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress",
            "content": []}  # fmt: skip
    part = {"type": "output_text", "text": "", "annotations": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = "".join(said)
    whole = {**item, "status": "completed", "content": [{**part, "text": text}]}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18,
             "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    done = {**response, "status": "completed", "output": [whole], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", "part": part, **place},
        *(
            {"type": "response.output_text.delta", "delta": word, "logprobs": [], **place}
            for word in said
        ),
        {"type": "response.output_text.done", "text": text, "logprobs": [], **place},
        {"type": "response.content_part.done", "part": {**part, "text": text}, **place},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": done},
    ]
    return [_named({**event, "sequence_number": at}) for at, event in enumerate(events)]


def _anthropic(said: list[str]) -> list[str]:
    message: dict[str, Any] = {"id": "m1", "type": "message", "role": "assistant", "content": [],
               "model": "claude", "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": 9, "output_tokens": 1}}  # fmt: skip
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    block = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": word},
            }
            for word in said
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [_named(event) for event in events]


def _google(said: list[str]) -> list[str]:
    def frame(word: str, **more: str) -> str:
        content = {"parts": [{"text": word}], "role": "model"}
        body = {
            "candidates": [{"content": content, "index": 0, **more}],
            "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
            "modelVersion": "gemini-3-flash",
            "responseId": "abcdefghijklmnop",
        }
        return f"data: {json.dumps(body)}\r\n\r\n"

    return [*(frame(word) for word in said[:-1]), frame(said[-1], finishReason="STOP")]


def _named(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def cut(text: str, size: int) -> list[str]:
    """Cut a text into chunks of *size* characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


class Marks:
    """Numbered words: each occurs once, so a judge can tell what was lost, doubled or shown."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.given: list[str] = []

    def __call__(self) -> str:
        """Return a new mark."""
        mark = f"{self.letter}{len(self.given):04d}{self.letter}"
        self.given.append(mark)
        return mark


def reply(characters: int) -> dict[str, Any]:
    """Return a reply with a thought, prose, a list, code, a table and a spoiler, over and over.

    `shown` are the marks a channel must show, each once, and `hidden` those it must not; `first`
    is the first word that is shown.
    """
    shown, hidden = Marks("k"), Marks("h")
    parts: list[str] = [
        f"<think>A plan {hidden()} is wanted. Begin with the water {hidden()}.</think>\n"
    ]
    size = len(parts[0])
    sections = (_prose, _list, _code, _prose, _table, _spoiler)
    number = 0
    while size < characters:
        parts.append(sections[number % len(sections)](shown))
        size += len(parts[-1])
        number += 1
    return {"text": "".join(parts), "shown": shown.given, "hidden": hidden.given,
            "first": "The"}  # fmt: skip


def _prose(mark: Marks) -> str:
    return (
        f"The surface of the lake {mark()} was still, and no wind {mark()} came over the hill. "
        f"Then a fish jumped, and **the ring it made** {mark()} grew wider until it reached the "
        f"shore! We counted the seconds {mark()}, `x < y` and all.\n\n"
    )


def _list(mark: Marks) -> str:
    return (
        "".join(f"- item {mark()} with a _few_ words\n  and a second line\n" for _ in range(4))
        + "\n"
    )


def _code(mark: Marks) -> str:
    lines = "".join(f"    total += compute({mark()}, 42)  # a line\n" for _ in range(12))
    return f"```py\ndef run():\n{lines}```\n\n"


def _table(mark: Marks) -> str:
    rows = "".join(f"| {mark()} | 12 | in the lake |\n" for _ in range(6))
    return f"| name | size | where |\n|---|---|---|\n{rows}\n"


def _spoiler(mark: Marks) -> str:
    return f"The murderer is ||the gardener {mark()}, who had a key|| of course {mark()}.\n\n"


_PROSE = (
    "The surface of the lake was still, and nobody spoke. Then a fish jumped, and the ring it "
    "made grew wider and wider until it reached the shore! We counted the seconds.\n\n"
)
#: Shapes of long replies: a head, and what is repeated.
SHAPES = {
    "prose": ("", _PROSE),
    "< in the text": ("", "if a < b and b <c or <d then << e; "),
    "one code block": ("```py\n", "    total += compute(value, 42)  # a line of code\n"),
    "one table": ("| name | size |\n|---|---|\n", "| a fish | 12 |\n"),
}


def shape(name: str, chunks: int, size: int = 4) -> list[str]:
    """Return a long reply of one shape in so many chunks."""
    head, unit = SHAPES[name]
    length = chunks * size
    return cut((head + unit * (length // len(unit) + 1))[:length], size)


#: Replies with thoughts, and what a channel must show of each, blanks aside.  `hidden` must not be
#: shown; a word `kept` must.
THOUGHTS = (
    ("<think>hidden plan</think>Hello world", "Hello world"),
    ("Answer: <think>hidden</think>done", "Answer: done"),
    ("<thinking>hidden</thinking>\n\nkept", "kept"),
    ("<THINK>hidden</THINK>kept", "kept"),
    ("<think>hidden one</think>kept a <think>hidden two</think>kept b", "kept a kept b"),
    ("<think>hidden and never closed", ""),
    ("hidden prefilled</think>kept", "kept"),
    ("Use `<think>` to open a block, kept", "Use `<think>` to open a block, kept"),
    ("```xml\n<think>kept</think>\n```\nkept too", "```xml\n<think>kept</think>\n```\nkept too"),
    ("The value is <th", "The value is <th"),
    ("1 < 2 and 3 <", "1 < 2 and 3 <"),
    ("a <b>bold</b> word, kept", "a <b>bold</b> word, kept"),
    ("<think>hidden <b>x</b> 1 < 2</think>kept", "kept"),
    ("kept hahahaha hahahaha hahahaha", "kept hahahaha hahahaha hahahaha"),
)


def cuts(length: int, several: int, seed: int) -> list[list[int]]:
    """Return ways to cut a text: whole, in two everywhere, in equal parts, and at random."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    found: list[list[int]] = [[], *([at] for at in range(1, length))]
    found += [list(range(size, length, size)) for size in range(1, min(13, length))]
    for _ in range(several):
        count = chance.randrange(1, max(2, min(12, length)))
        found.append(sorted(chance.sample(range(1, max(2, length)), min(count, length - 1))))
    return found
