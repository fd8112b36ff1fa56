"""Measure the provider side: CPU time from bytes on a loopback socket to a normalised chunk.

The server is another process and writes frame after frame as fast as it can, so that what is
measured is the work on them and not the waiting between them.  All contestants read the same
bytes, interleaved in one process: a reply each in turn, many times over, and the
median counts.  The floor is the least one could do with the same libraries: aiohttp's reads,
a split at blank lines, msgspec into a structure, the text out of it; no limits, no errors, no
calls, no line ends but LF.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import aiohttp
import msgspec

from minamo.core.chunks import TextChunk
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAICompatible

FRAMES = 1_000
ROUNDS = 15
WORDS = ["The ", "surface ", "of ", "the ", "water ", "shows ", "what ", "moves ", "below. "]


def _openai(number: int, word: str) -> str:
    return json.dumps(
        {
            "id": "chatcmpl-C1a2b3c4d5e6f7g8h9",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": "gpt-5-mini-2025-08-07",
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": [
                {"index": 0, "delta": {"content": word}, "logprobs": None, "finish_reason": None}
            ],
            "usage": None,
            "obfuscation": "k3Jx9"[: number % 5],
        }
    )


def _google(_: int, word: str) -> str:
    return json.dumps(
        {
            "candidates": [{"content": {"parts": [{"text": word}], "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
            "modelVersion": "gemini-3-flash",
            "responseId": "abcdefghijklmnop",
        }
    )


def _anthropic(_: int, word: str) -> str:
    delta = {"type": "text_delta", "text": word}
    return json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})


def frames(dialect: str) -> list[bytes]:
    """A reply of many frames with a word each."""
    words = [WORDS[i % len(WORDS)] for i in range(FRAMES)]
    if dialect == "openai":
        out = [f"data: {_openai(i, word)}\n\n" for i, word in enumerate(words)]
        last = json.loads(_openai(0, ""))
        last["choices"][0] |= {"delta": {}, "finish_reason": "stop"}
        out += [f"data: {json.dumps(last)}\n\n", "data: [DONE]\n\n"]
    elif dialect == "google":
        out = [f"data: {_google(i, word)}\r\n\r\n" for i, word in enumerate(words)]
        last = json.loads(_google(0, ""))
        last["candidates"][0]["finishReason"] = "STOP"
        out.append(f"data: {json.dumps(last)}\r\n\r\n")
    else:
        message = {"id": "m1", "type": "message", "role": "assistant", "content": [],
                   "model": "claude", "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 9, "output_tokens": 1}}  # fmt: skip
        stop = {"stop_reason": "end_turn", "stop_sequence": None}
        plain: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "text", "text": ""}},
            *(json.loads(_anthropic(i, word)) for i, word in enumerate(words)),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]  # fmt: skip
        out = [f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n" for frame in plain]
    return [line.encode() for line in out]


_SERVER = """
import asyncio, json, sys
replies = json.load(sys.stdin)
async def serve(reader, writer):
    while True:
        try:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        size = next(int(l.split(b":")[1]) for l in head.lower().split(b"\\r\\n")
                    if l.startswith(b"content-length"))
        await reader.readexactly(size)
        path = head.split(b" ", 2)[1].decode()
        reply = replies["openai" if "completions" in path else
                        "google" if "Generate" in path else "anthropic"]
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n"
                     b"Transfer-Encoding: chunked\\r\\n\\r\\n")
        for frame in reply:
            frame = frame.encode()
            writer.write(b"%x\\r\\n%b\\r\\n" % (len(frame), frame))
            await writer.drain()
        writer.write(b"0\\r\\n\\r\\n")
        await writer.drain()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The server, in a process of its own, for as long as it is needed."""
    replies = {name: [f.decode() for f in frames(name)] for name in DIALECTS}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(replies).encode())
        process.stdin.close()
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


class _Delta(msgspec.Struct):
    content: str | None = None
    text: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta


class _Content(msgspec.Struct):
    parts: list[_Delta]


class _Candidate(msgspec.Struct):
    content: _Content


class _Frame(msgspec.Struct):
    choices: list[_Choice] = []
    candidates: list[_Candidate] = []
    delta: _Delta | None = None


_DECODER = msgspec.json.Decoder(_Frame)


def _text_of(frame: _Frame) -> str | None:
    if frame.choices:
        return frame.choices[0].delta.content
    if frame.candidates:
        return frame.candidates[0].content.parts[0].text
    return frame.delta.text if frame.delta is not None else None


PATHS = {
    "openai": "/v1/chat/completions",
    "google": "/v1beta/models/m:streamGenerateContent?alt=sse",
    "anthropic": "/v1/messages",
}
DIALECTS = tuple(PATHS)


def _floor(dialect: str, url: str, session: aiohttp.ClientSession) -> Callable[[], Awaitable[int]]:
    decode = _DECODER.decode
    blank = b"\r\n\r\n" if dialect == "google" else b"\n\n"

    async def run() -> int:
        count, rest = 0, b""
        async with session.post(url + PATHS[dialect], data=b"{}") as response:
            async for data in response.content.iter_any():
                *blocks, rest = (rest + data).split(blank)
                for block in blocks:
                    line = block[block.index(b"data: ") + 6 :]
                    if line != b"[DONE]" and _text_of(decode(line)):
                        count += 1
        return count

    return run


def _minamo(dialect: str, url: str) -> tuple[Any, Callable[[], Awaitable[int]]]:
    llm: Any = (
        OpenAICompatible(f"{url}/v1", model="m")
        if dialect == "openai"
        else (Gemini if dialect == "google" else Anthropic)(model="m", api_key="k", base_url=url)
    )
    conversation = llm.ask("Hi")

    async def run() -> int:
        count = 0
        async for chunk in conversation:
            if chunk.__class__ is TextChunk and chunk.content:
                count += 1
        return count

    return llm, run


Run = Callable[[], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


def _sdk(dialect: str, url: str) -> tuple[Run | None, Close | None]:
    try:
        return _SDKS[dialect](url)
    except ImportError:
        return None, None


def _openai_sdk(url: str) -> tuple[Run, Close]:
    import openai

    client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1")

    async def run() -> int:
        count = 0
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                count += 1
        return count

    return run, client.close


def _google_sdk(url: str) -> tuple[Run, Close]:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))

    async def run() -> int:
        count = 0
        async for chunk in await client.aio.models.generate_content_stream(
            model="m", contents="Hi"
        ):
            if chunk.text:
                count += 1
        return count

    return run, client.aio.aclose


def _anthropic_sdk(url: str) -> tuple[Run, Close]:
    import anthropic

    client = anthropic.AsyncAnthropic(api_key="k", base_url=url)

    async def run() -> int:
        count = 0
        stream = await client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                count += 1
        return count

    return run, client.close


_SDKS = {"openai": _openai_sdk, "google": _google_sdk, "anthropic": _anthropic_sdk}


async def _timed(run: Callable[[], Awaitable[int]]) -> float:
    gc.collect()
    begin = time.process_time()
    count = await run()
    took = time.process_time() - begin
    assert count == FRAMES, count
    return took / count * 1e6


async def _rounds(dialect: str, url: str, rounds: int) -> dict[str, list[float]]:
    """CPU time of each contestant in each round."""
    llm, minamo = _minamo(dialect, url)
    sdk, close = _sdk(dialect, url)
    async with aiohttp.ClientSession() as session, llm:
        runs = {"floor": _floor(dialect, url, session), "minamo": minamo}
        if sdk is not None:
            runs["sdk"] = sdk
        for run in runs.values():  # warm: connections, imports, caches
            await run()
        figures: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                figures[name].append(await _timed(run))
    if close is not None:
        await close()
    return figures


def _ratio(above: list[float], below: list[float]) -> float:
    """The median of the rounds' ratios: what slows a whole round down is in both."""
    return round(statistics.median(a / b for a, b in zip(above, below, strict=True)), 2)


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Every figure, from one run."""
    with served() as url:
        found = {name: asyncio.run(_rounds(name, url, rounds)) for name in DIALECTS}
    return {
        "us_per_chunk": {
            dialect: {name: round(statistics.median(took), 2) for name, took in figures.items()}
            for dialect, figures in found.items()
        },
        "times_floor": {k: _ratio(v["minamo"], v["floor"]) for k, v in found.items()},
        "sdk_times_minamo": {
            k: _ratio(v["sdk"], v["minamo"]) for k, v in found.items() if "sdk" in v
        },
    }


def main(*, as_json: bool = False) -> int:
    """Measure and print."""
    found = measure()
    if as_json:
        print(json.dumps(found))
        return 0
    print(f"CPU per chunk, replies of {FRAMES} chunks, median of {ROUNDS} interleaved rounds")
    for dialect, figures in found["us_per_chunk"].items():
        print(f"\n{dialect}")
        for name, value in figures.items():
            print(f"  {name:<8} {value:>9.2f} µs")
        print(f"  minamo is {found['times_floor'][dialect]} x the floor")
        if dialect in found["sdk_times_minamo"]:
            print(f"  the SDK is {found['sdk_times_minamo'][dialect]} x minamo")
    return 0
