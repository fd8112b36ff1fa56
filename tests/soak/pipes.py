"""Lines of JSON between the processes of a soak."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Line = dict[str, Any]


def tell(**line: Any) -> None:
    """Say something to the process that started this one."""
    print(json.dumps(line), flush=True)


async def lines_of_stdin() -> AsyncIterator[Line]:
    """What the process that started this one says, until it ends its side."""
    reader = asyncio.StreamReader(limit=1 << 22)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    async for line in reader:
        yield json.loads(line)
    transport.close()


class Child:
    """A process of the soak: what it says goes to *hear*, what it logs into a file."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, name: str, folder: Path, hear: Callable[[Line], object], *arguments: object
    ) -> Child:
        """Start the module of that name and wait until it is ready."""
        log = (folder / f"{'-'.join(map(str, [name, *arguments[:1]]))}.log").open("wb")
        path = os.pathsep.join(map(str, (ROOT / "tests", ROOT)))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", f"soak.{name}", *map(str, arguments)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
            env={**os.environ, "PYTHONPATH": path}, limit=1 << 22,
        )  # fmt: skip
        log.close()
        child = cls(name, process)
        ready = asyncio.Event()
        child._reading = asyncio.create_task(child._read(hear, ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait(
            {waiting, child._reading}, timeout=30, return_when=asyncio.FIRST_COMPLETED
        )
        waiting.cancel()
        if not ready.is_set():
            child.kill()
            raise RuntimeError(f"{name} did not start; see {log.name}")
        return child

    async def _read(self, hear: Callable[[Line], object], ready: asyncio.Event) -> None:
        assert self._process.stdout is not None
        async for text in self._process.stdout:
            line = json.loads(text)
            if line.pop("ready", False):
                ready.set()
            hear(line)

    def tell(self, **line: Any) -> None:
        """Say something to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    async def end(self, within_s: float = 30.0) -> int:
        """Let it end by itself; return its exit code, or -9 if it did not."""
        assert self._process.stdin is not None
        assert self._reading is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(within_s):
                await self._reading
                return await self._process.wait()
        except TimeoutError:
            self.kill()
            return -9

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process.returncode is None:
            self._process.kill()
