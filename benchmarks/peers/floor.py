"""The least one could write by hand with the same libraries: no limits, no errors, no calls."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import msgspec
from streaming import many_streams


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
    delta: str | _Delta | None = None


_DECODER = msgspec.json.Decoder(_Frame)
_SESSION: aiohttp.ClientSession | None = None


def _text_of(frame: _Frame) -> str | None:
    if frame.choices:
        return frame.choices[0].delta.content
    if frame.candidates:
        return frame.candidates[0].content.parts[0].text
    delta = frame.delta
    return delta if delta is None or isinstance(delta, str) else delta.text


async def _read(url: str, dialect: str) -> AsyncIterator[str]:
    global _SESSION
    if _SESSION is None:
        _SESSION = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    decode, rest = _DECODER.decode, b""
    blank = b"\r\n\r\n" if dialect == "google" else b"\n\n"
    async with _SESSION.post(url, data=b"{}") as response:
        async for data in response.content.iter_any():
            *blocks, rest = (rest + data).split(blank)
            for block in blocks:
                line = block[block.index(b"data: ") + 6 :]
                if line != b"[DONE]" and (text := _text_of(decode(line))):
                    yield text


async def ingest(url: str, path: str, dialect: str, peer: str) -> str:
    """Read one reply; return its text."""
    del peer
    parts = []
    async for text in _read(url + path, dialect):
        parts.append(text)  # noqa: PERF401 - as a bot's loop would
    return "".join(parts)


async def concurrent(url: str, path: str, dialect: str, peer: str, streams: int) -> dict[str, Any]:
    """Read many replies at once."""
    del peer
    return await many_streams(lambda: ingest(url, path, dialect, ""), streams)


def pipeline(chunks: list[str], peer: str = "") -> list[str]:
    """Collect the text and cut it every 2,000 characters, whatever is there."""
    del peer
    text = ""
    for chunk in chunks:
        text += chunk
    return split([text])[0]


def yardstick(chunks: list[str]) -> int:
    """Look at every character in Python: work whose speed depends on the machine alone."""
    counts = dict.fromkeys("\n<`|*", 0)
    for _ in range(20):
        for chunk in chunks:
            for character in chunk:
                if character in counts:
                    counts[character] += 1
    return sum(counts.values())


def split(texts: list[str]) -> list[list[str]]:
    """Cut texts into messages."""
    return [[text[at : at + 2_000] for at in range(0, len(text), 2_000)] for text in texts]


def visible(text: str, cuts: list[list[int]], peer: str = "") -> list[str]:
    """Return the text: nothing is hidden."""
    del cuts, peer
    return [text]


def step(events: list[str], count: int, observers: int = 0, peer: str = "") -> float:
    """Run a table written by hand, as one would for speed; return seconds per event."""
    del observers, peer
    machine = ByHand()
    machine.send("text")
    return timed(machine.send, events, count)


def timed(send: Callable[[str], object], events: list[str], count: int) -> float:
    """Return the CPU seconds per event of so many rounds of *events*."""
    begin = time.process_time()
    for _ in range(count):
        for event in events:
            send(event)
    return (time.process_time() - begin) / (count * len(events))


class Actions:
    """The actions and guards of the rows below: empty, so that the machine is measured."""

    def take_text(self, payload: object) -> None:
        """Do nothing."""

    open_thought = close_thought = unnest_thought = hand_complete = hand_over = take_text

    def outermost(self, payload: object) -> bool:
        """Return True."""
        return True

    def segment_ready(self, payload: object) -> bool:
        """Return False."""
        return False


_A: Any = Actions
_ROWS: dict[tuple[str, str], tuple[tuple[Any, tuple[Any, ...], str | None], ...]] = {
    ("opening", "text"): ((None, (_A.take_text,), "streaming"),),
    ("streaming", "text"): ((None, (_A.take_text,), None),),
    ("streaming", "think_opened"): ((None, (_A.hand_complete, _A.open_thought), "in_think"),),
    ("in_think", "think_closed"): (
        (_A.outermost, (_A.close_thought,), "streaming"),
        (None, (_A.unnest_thought,), None),
    ),
}
_AT_ONCE: dict[str, tuple[tuple[Any, tuple[Any, ...], str], ...]] = {
    "streaming": ((_A.segment_ready, (_A.hand_over,), "handing"),),
}


class ByHand:
    """A dictionary, a loop and a string."""

    __slots__ = ("actions", "state")

    def __init__(self) -> None:
        self.actions = Actions()
        self.state = "opening"

    def send(self, event: str, payload: object = None) -> None:
        """Take an event."""
        actions = self.actions
        for guard, acts, target in _ROWS.get((self.state, event), ()):
            if guard is None or guard(actions, payload):
                for act in acts:
                    act(actions, payload)
                if target is not None:
                    self.state = target
                break
        for guard, acts, target in _AT_ONCE.get(self.state, ()):
            if guard is None or guard(actions, None):
                for act in acts:
                    act(actions, None)
                self.state = target
                break
