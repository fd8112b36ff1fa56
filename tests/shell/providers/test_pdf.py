"""PDFs for services that take none: their text, or an honest line, and never a held-up bot."""

from __future__ import annotations

import json
import time
from typing import Any

import anyio
import pytest

from minamo.shell.providers import pdf
from minamo.shell.providers.adapters import OpenAICompatible
from minamo.shell.providers.base import HttpAdapter
from minamo.shell.providers.pdf import PdfReader, PdfText, extract, text_of
from minamo.wire.conversation import user
from minamo.wire.files import File
from support.pdf import bomb, pdf_of
from support.provider_server import saying, serving
from support.recordings import adapter, recording

pytestmark = pytest.mark.anyio
pytest.importorskip("pypdf")


async def test_the_text_of_every_page() -> None:
    found = await extract(pdf_of("one is here", "two is there"))
    assert found == PdfText("one is here\n\ntwo is there", 2, 2)


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
async def test_a_service_without_documents_gets_the_text(dialect: str) -> None:
    report = File("report.pdf", pdf_of("the sum is 42"))
    async with serving(saying(recording(f"{dialect}-text"))) as server:
        async with adapter(dialect, server.url) as llm:
            chunks = [chunk async for chunk in llm.chat([user("what is the sum?", files=[report])])]
        told = json.loads(server.requests[-1]["body"])
    assert chunks
    content = (told.get("messages") or told["input"])[0]["content"]
    said = content if isinstance(content, str) else content[0]["text"]
    asked, first, text, last = said.split("\n")
    assert (asked, text) == ("what is the sum?", "the sum is 42")
    assert first.endswith('name="report.pdf" note="the text of a PDF">')
    assert last == f"</{first[1:22]}>"


class Own(OpenAICompatible):
    """An adapter whose frames are looked at takes the other way."""

    def on_raw_chunk(self, frame: Any) -> None:
        """Look."""


async def test_an_adapter_with_a_hook_gets_the_text_too() -> None:
    report = File("report.pdf", pdf_of("the sum is 42"))
    async with serving(saying(recording("openai-text"))) as server:
        async with Own(f"{server.url}/v1", model="m") as llm:
            assert [chunk async for chunk in llm.chat([user(files=[report])])]
        assert "the sum is 42" in json.loads(server.requests[-1]["body"])["messages"][0]["content"]


async def test_too_much_text_for_a_request_leaves_the_line() -> None:
    report = File("report.pdf", pdf_of("sum " * 2_000))
    many = [user("x" * 6_600_000, files=[report]) for _ in range(3)]
    async with serving(saying(recording("openai-text"))) as server:
        async with adapter("openai", server.url) as llm:
            request = llm.chat(many).request
            assert isinstance(llm, HttpAdapter)
            short = len(request.body)
            padded = [*many, user("y" * (20 * 1_048_576 - short - 1_000))]
            assert [chunk async for chunk in llm.chat(padded)]
        assert b"[report.pdf is a PDF that cannot be read here]" in server.requests[-1]["body"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"%PDF-1.4\nnonsense", "it is damaged"),
        (b"%PDF-1.4\n" + b"<<" * 100_000, "it is damaged"),
        (pdf_of("x")[:300], "it is damaged"),
    ],
)
async def test_damaged_pdfs(data: bytes, problem: str) -> None:
    assert (await extract(data)).problem == problem


async def test_a_pdf_of_pictures_has_no_text() -> None:
    file = File("scan.pdf", pdf_of(""))
    assert "it has no text, perhaps only pictures" in text_of(file, await extract(file.data))


async def test_long_pdfs_are_cut() -> None:
    file = File("a.pdf", b"%PDF-")
    assert "the first 2 of 9 pages only" in text_of(file, PdfText("text", 9, 2))
    assert "the first 60000 characters only" in text_of(file, PdfText("x" * 60_001, 9, 2))
    found = await extract(pdf_of(*["word " * 2_000] * 20))
    assert (found.pages, found.read) == (20, 7)
    found = await extract(pdf_of(*["a"] * 210))
    assert (found.pages, found.read) == (210, 200)


async def test_a_bomb_takes_neither_the_loop_nor_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf, "TIME_MAX_S", 2.0)
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await anyio.sleep(0.01)
            longest = max(longest, time.perf_counter() - began)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        began = time.perf_counter()
        found = await extract(bomb(40_000_000))
        took = time.perf_counter() - began
        tasks.cancel_scope.cancel()
    assert found.problem == "reading it takes too long"
    assert took < 4
    assert longest < 0.5


async def test_without_the_library_the_operator_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    file = File("a.pdf", pdf_of("x"))
    texts = await PdfReader().read([file])
    assert texts == {file: "[a.pdf is a PDF that cannot be read here: its text is not extracted]"}
    assert "pip install 'hikari-minamo[pdf]'" in caplog.text


async def test_a_pdf_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    async def counted(data: bytes) -> PdfText:
        reads.append(len(data))
        return PdfText("text", 1, 1)

    monkeypatch.setattr(pdf, "extract", counted)
    reader = PdfReader()
    files = [File("a.pdf", b"%PDF-" + bytes([65 + number])) for number in range(17)]
    await reader.read(files)
    await reader.read(files[1:])
    assert len(reads) == 17
    await reader.read(files[:1])  # the oldest was forgotten
    assert len(reads) == 18
