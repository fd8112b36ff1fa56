"""The text of PDFs, for services that take none: read by pypdf in a process of its own.

A PDF comes from a stranger and can be made to cost minutes or gigabytes, so each is read outside
the bot's process, with limits on time, memory, pages and characters.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import IO, Any

import anyio
import msgspec
from attrs import define, field, frozen

from minamo.wire.conversation import ChatMessage
from minamo.wire.files import File, quoted, shortened
from minamo.wire.frames import HttpRequest
from minamo.wire.options import RequestOptions

_LOG = logging.getLogger("minamo.stream")

# A page takes some 20 ms; most attached PDFs have fewer than a hundred.
PAGES_MAX = 200
# About 15,000 tokens, as for text files (`HistoryLimits.file_characters_max`).
CHARACTERS_MAX = 60_000
TIME_MAX_S = 20.0
_MEMORY_MAX_BYTES = 1_073_741_824
# Processes at a time, and texts kept: the same PDF is asked for in every round of a conversation.
_PROCESSES_MAX = 2
_TEXTS_MAX = 16
# What a Python needs to start; the rest of the environment holds keys.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "HOME", "USERPROFILE", "SYSTEMROOT", "TEMP",
                "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG")  # fmt: skip


@frozen(slots=True)
class RequestWithPdfs(HttpRequest):
    """A request that says of PDFs only that they are there, and what it takes to say more."""

    messages: Sequence[ChatMessage] = field(default=(), repr=False)
    options: RequestOptions = field(factory=RequestOptions, repr=False)


class PdfText(msgspec.Struct):
    """The text of a PDF, or the reason why there is none."""

    text: str = ""
    pages: int = 0
    read: int = 0
    """The number of pages that were read."""
    problem: str = ""


@define(eq=False)
class PdfReader:
    """A reader of PDFs for one adapter; it remembers the latest texts."""

    _known: dict[bytes, PdfText] = field(factory=dict, init=False, repr=False)
    _turn: anyio.Semaphore | None = field(default=None, init=False, repr=False)

    async def read(self, files: Iterable[File]) -> dict[File, str]:
        """Return the text of each PDF, or a note that says why there is none."""
        return {file: text_of(file, await self._read(file)) for file in files}

    async def _read(self, file: File) -> PdfText:
        key = hashlib.blake2b(file.data, digest_size=16).digest()
        found = self._known.pop(key, None)
        if found is None:
            self._turn = self._turn or anyio.Semaphore(_PROCESSES_MAX)
            async with self._turn:
                found = await extract(file.data)
        self._known[key] = found
        if len(self._known) > _TEXTS_MAX:
            del self._known[next(iter(self._known))]
        return found


def text_of(file: File, found: PdfText) -> str:
    """Return the text of a PDF between marks, or the note of why there is none."""
    if found.problem or not found.text.strip():
        return file.note(found.problem or "it has no text, perhaps only pictures of pages")
    text, note = shortened(found.text, CHARACTERS_MAX)
    if not note and found.read < found.pages:
        note = f"the first {found.read} of {found.pages} pages only"
    return quoted(file.name, text, note or "the text of a PDF")


async def extract(data: bytes) -> PdfText:
    """Return the text of a PDF, read in another process."""
    if find_spec("pypdf") is None:
        _LOG.warning("a PDF is not read: install the extra with pip install 'hikari-minamo[pdf]'")
        return PdfText(problem="its text is not extracted")
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    with anyio.move_on_after(TIME_MAX_S):
        try:
            done = await anyio.run_process(
                [sys.executable, "-P", "-m", __name__],
                input=data,
                stderr=subprocess.DEVNULL,
                check=False,
                env=environment,
            )
            return msgspec.json.decode(done.stdout, type=PdfText)
        except (OSError, anyio.BrokenResourceError, msgspec.MsgspecError):
            return PdfText(problem="it is damaged, or too large to read")
    return PdfText(problem="reading it takes too long")


# What follows runs in the other process.


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows: only the time is limited there
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_MAX_BYTES, _MEMORY_MAX_BYTES))
    seconds = int(TIME_MAX_S)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def read_pdf(data: bytes) -> PdfText:
    """Return the text of a PDF, up to the limits of pages and characters."""
    import pypdf

    pdf: Any = pypdf.PdfReader(io.BytesIO(data))
    if pdf.is_encrypted and not pdf.decrypt(""):
        return PdfText(problem="it is encrypted")
    pages, texts, left = len(pdf.pages), list[str](), CHARACTERS_MAX
    for page in pdf.pages[:PAGES_MAX]:
        if left < 0:
            break
        texts.append(page.extract_text()[: left + 1])
        left -= len(texts[-1])
    whole = "\n\n".join(texts).encode("utf-8", "replace").decode()
    return PdfText(whole, pages, len(texts))


def _main(source: IO[bytes], sink: IO[bytes]) -> None:
    _limit()
    try:
        found = read_pdf(source.read())
    except Exception:  # noqa: BLE001 - a damaged PDF can raise anything in pypdf
        found = PdfText(problem="it is damaged")
    sink.write(msgspec.json.encode(found))


if __name__ == "__main__":
    _main(sys.stdin.buffer, sys.stdout.buffer)
