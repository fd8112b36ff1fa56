"""Making adapters: what is wrong is said at once, never with the key in it; and the page about them is true."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, TextChunk
from minamo.errors import BadRequest
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAICompatible
from minamo.shell.providers.base import Adapter, ChatStream
from minamo.testing import as_chunks
from minamo.wire.frames import Frame
from minamo.wire.options import ReplyOptions
from support.provider_server import saying, serving
from support.recordings import KEY, gathered, recording

pytestmark = pytest.mark.anyio


GOOD: dict[Any, dict[str, Any]] = {
    OpenAICompatible: {"base_url": "https://example.invalid/v1", "model": "m", "api_key": KEY},
    Gemini: {"model": "m", "api_key": KEY},
    Anthropic: {"model": "m", "api_key": KEY},
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": ""}, "model is missing"),
        ({"model": None}, "model is missing"),
        ({"model": "a\nb"}, "model is not a name"),
        ({"api_key": ""}, "api_key is missing"),
        ({"api_key": None}, "api_key is missing"),
        ({"api_key": f"{KEY}\r\nX: y"}, "characters that no key has"),
        ({"api_key": f"{KEY} "}, "characters that no key has"),
        ({"api_key": f"{KEY}é"}, "characters that no key has"),
        ({"base_url": ""}, "base_url is missing"),
        ({"base_url": None}, "base_url is missing"),
        ({"base_url": "example.invalid"}, "must be http"),
        ({"base_url": "ftp://example.invalid"}, "must be http"),
        ({"base_url": "https://"}, "must be http"),
        ({"base_url": "https://host:99999"}, "not a URL"),
        ({"base_url": "https://[::1"}, "not a URL"),
        ({"base_url": "https://ho st/"}, "blanks"),
        ({"base_url": f"https://u:{KEY}@example.invalid"}, "must not hold a user"),
        ({"base_url": f"https://example.invalid?key={KEY}"}, "must not hold a user"),
        ({"base_url": "http://example.invalid"}, "plain http"),
        ({"headers": {"X-Bad": f"{KEY}\n"}}, "'X-Bad' cannot be sent"),
        ({"headers": {"X-Bad": 5}}, "'X-Bad' must be text, and is a int"),
        ({"headers": {"X-Bad": None}}, "'X-Bad' must be text, and is a NoneType"),
        ({"headers": {5: "a"}}, "headers: 5 is no name of a header"),
        ({"headers": [("X-Bad", KEY)]}, "headers must map names to text; it is a list"),
        ({"headers": {"X Bad": "a"}}, "'X Bad' is no name of a header"),
    ],
)
def test_p22_bad_input_is_refused_before_any_request(kind: Any, change: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message) as caught:
        kind(**(GOOD[kind] | change))
    assert KEY not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("kind", "change", "url"),
    [
        (OpenAICompatible, {"base_url": "https://a.invalid/v1/"}, "https://a.invalid/v1/chat/completions"),
        (OpenAICompatible, {"base_url": "http://localhost:11434/v1", "api_key": None},
         "http://localhost:11434/v1/chat/completions"),
        (OpenAICompatible, {"base_url": "http://[::1]:1/v1", "api_key": None},
         "http://[::1]:1/v1/chat/completions"),
        (OpenAICompatible, {"base_url": "http://box.lan/v1", "allow_http": True, "api_key": None},
         "http://box.lan/v1/chat/completions"),
        (Anthropic, {}, "https://api.anthropic.com/v1/messages"),
        (Anthropic, {"base_url": "https://a.invalid/v1"}, "https://a.invalid/v1/messages"),
        (Gemini, {}, "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
        (Gemini, {"model": "models/g-1", "base_url": "https://a.invalid/v1/p/x"},
         "https://a.invalid/v1/p/x/models/g-1:streamGenerateContent?alt=sse"),
    ],
)  # fmt: skip
def test_p22_where_requests_go(kind: Any, change: Any, url: str) -> None:
    llm = kind(**(GOOD[kind] | change))

    assert llm.ask("Hi").request.url == url
    assert KEY not in repr(llm) + repr(llm.ask("Hi")) + repr(llm.ask("Hi").request)


@pytest.mark.parametrize("model", ["../x", "a/b"])
def test_a_model_cannot_change_the_path(model: str) -> None:
    with pytest.raises(BadRequest, match="not a name of Gemini's"):
        Gemini(model=model, api_key=KEY)


@pytest.mark.parametrize(
    ("url", "usage", "field"),
    [
        ("https://api.openai.com/v1", True, b"max_completion_tokens"),
        ("https://api.mistral.ai/v1", False, b"max_tokens"),
        ("https://openrouter.ai/api/v1", True, b"max_tokens"),
    ],
)
def test_known_servers_are_asked_in_their_way(url: str, usage: bool, field: bytes) -> None:
    body = OpenAICompatible(url, model="m", api_key=KEY).ask("Hi", max_tokens=5).request.body

    assert (b"stream_options" in body) is usage
    assert b'"%b":5' % field in body


@pytest.mark.parametrize("kind", GOOD)
async def test_headers_of_ones_own(kind: Any) -> None:
    name = {OpenAICompatible: "openai", Gemini: "google", Anthropic: "anthropic"}[kind]
    async with serving(saying(recording(f"{name}-text"))) as server:
        own = GOOD[kind] | {"base_url": server.url, "headers": {"X-Title": "minamo"}}
        async with kind(**own) as llm:
            found = gathered([chunk async for chunk in llm.ask("Hi")])
    assert found.text == "Hello there."
    assert server.requests[0]["headers"]["X-Title"] == "minamo"


async def test_a_conversation_asks_anew_each_time() -> None:
    async with (
        serving(saying(recording("openai-text"))) as server,
        OpenAICompatible(f"{server.url}/v1", model="m") as llm,
    ):
        conversation = llm.ask("Hi")
        texts = [gathered([c async for c in conversation]).text for _ in range(2)]
    assert texts == ["Hello there."] * 2
    assert server.count == 2
    assert isinstance(llm, Adapter)


class Own(Adapter):
    """An adapter of somebody's own, with the two hooks."""

    def __init__(self, *frames: Any) -> None:
        self.frames = frames
        self.raw: list[Frame] = []
        self.errors: list[ErrorChunk] = []
        self.closed = False

    async def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        try:
            for data in self.frames:
                if isinstance(data, Exception):
                    raise data
                yield Frame(data, "own", {"timestamp": 1})
        finally:
            self.closed = True

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        if frame.data == "broken":
            raise KeyError(KEY)
        return [frame.data] if isinstance(frame.data, ErrorChunk) else [TextChunk(frame.data)]

    def on_raw_chunk(self, frame: Frame) -> None:
        self.raw.append(frame)

    def on_provider_error(self, error: ErrorChunk) -> None:
        self.errors.append(error)


@pytest.mark.parametrize(
    ("frames", "last"),
    [
        (["a", "b"], TextChunk("b")),
        (["a", ErrorChunk("timeout"), "b"], ErrorChunk("timeout")),
        (["a", "broken", "b"], ErrorChunk("api_error", "the adapter failed (KeyError)")),
        (["a", OSError(KEY)], ErrorChunk("api_error", "the adapter failed (OSError)")),
    ],
)
async def test_an_adapter_of_ones_own(frames: Any, last: Chunk) -> None:
    own = Own(*frames)
    chunks = [chunk async for chunk in ChatStream(own, None)]

    assert chunks == [TextChunk("a"), last]
    assert own.errors == ([last] if isinstance(last, ErrorChunk) else [])
    assert len(own.raw) == (1 if isinstance(frames[1], OSError) else 2)
    assert own.closed


class Plain:
    """The least an adapter can be: an iterator that cannot be closed, and no hooks."""

    def start_stream(self, request: Any) -> Any:
        return self

    def __aiter__(self) -> Plain:
        return self

    async def __anext__(self) -> Frame:
        return Frame(None)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        return [ErrorChunk("timeout")]


async def test_the_least_adapter() -> None:
    assert [c async for c in ChatStream(Plain(), None)] == [ErrorChunk("timeout")]
    assert DoneChunk().type == "done"


ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


async def test_the_programs_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "adapters.md", "exec"), names)

    assert await names["main"]() == [
        TextChunk("You said: "),
        TextChunk("Hi"),
        DoneChunk("stop", model="m1"),
    ]
    echoed = [chunk async for chunk in as_chunks(names["echo"]("a b"))]
    assert echoed == [TextChunk("a "), TextChunk("b ")]


def test_the_adapter_has_thirty_lines() -> None:
    adapter = PAGE[PAGE.index("class Mine") :].partition("```")[0]

    assert len([line for line in adapter.splitlines() if line.strip()]) <= 30


CELL = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_table_names_exists() -> None:
    table = PAGE[PAGE.index("| feature |") : PAGE.index("## The options")]
    rows = [line[1:-1].split("|") for line in table.splitlines()[2:] if line]
    assert {len(row) for row in rows} == {5}
    cells = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    assert len(cells) > 50
    for cell in cells:
        named = CELL.fullmatch(cell)
        assert named, f"{cell} names no test"
        told = (ROOT / "tests" / named[1]).read_text(encoding="utf-8")
        assert f"def {named[2]}(" in told, f"{named[1]} has no {named[2]}"


def test_the_table_of_options_is_complete() -> None:
    table = PAGE[PAGE.index("## The options") : PAGE.index("## You have a stream")]
    for option in ReplyOptions.__annotations__:
        assert f"`{option}" in table, option
