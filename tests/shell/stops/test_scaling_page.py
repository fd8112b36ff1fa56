"""The page about several processes: its program runs, and its numbers are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from minamo.shell.stops.redis_registry import ANSWER_TIMEOUT_MS
from minamo.shell.turns.redis_lease import TTL_MS
from support.redis_server import RedisServer

PAGE = Path(__file__).parents[3] / "docs" / "scaling.md"


def test_the_program_of_the_page_runs_twice(redis_server: RedisServer, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "two.py"
    # The page uses the default patience, which a busy test machine may exceed.
    file.write_text(program.replace('prefix="try"', 'prefix="try", answer_timeout_ms=10_000'))
    command = [sys.executable, "-W", "error", str(file), redis_server.url]
    with subprocess.Popen([*command, "stream"], stdout=subprocess.PIPE, text=True) as streaming:
        assert streaming.stdout is not None
        assert streaming.stdout.readline() == "streaming\n"
        stopping = subprocess.run(
            [*command, "stop"], capture_output=True, text=True, check=True, timeout=40
        )
        assert stopping.stdout == "running: ['stream-1']\nreached: yes\n"
        assert streaming.stdout.read() == "stopped: user, by 42\n"
        assert streaming.wait(timeout=40) == 0


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"`answer_timeout_ms` ({ANSWER_TIMEOUT_MS})" in text
    assert f"`ttl_ms` ({TTL_MS // 1000} {TTL_MS % 1000:03})" in text
