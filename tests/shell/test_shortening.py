"""Every place that shortens words of other people takes out a key before the cut, not after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minamo.bot.tools import toolbox
from minamo.core.chunks import Call, ErrorChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.notices.localization import Languages
from minamo.shell.notices.notices import quotable
from minamo.shell.telemetry.telemetry import _outcome
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tool_runner import failure

KEY = "sk-live-" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"


def _progress(words: str) -> str:
    said: list[Any] = []
    ToolContext(call=Call("a"), show=said.append).progress(words)
    return str(said[0].text)


def _environment(words: str) -> str:
    with pytest.raises(BadSetting) as caught:
        StreamConfig.from_env({"MAX_MESSAGE_LENGTH": words})
    return str(caught.value)


def _finish(words: str) -> str:
    return str(_outcome(StreamResult(status="completed", finish_reason=words))["finish_reason"])


PLACES: dict[str, Callable[[str], str]] = {
    "an error of a source": lambda words: as_chunk(ErrorChunk("api_error", words))[0].message,  # type: ignore[union-attr]
    "a tool that failed": lambda words: failure(Call("a"), "refused", words).text,
    "progress": _progress,
    "the environment": _environment,
    "the log": _finish,
    "a notice": quotable,
    "a phrase": lambda words: Languages().wording().say("tool_progress", tool=words),
}


@pytest.mark.parametrize("place", PLACES)
def test_p21_a_key_across_the_cut_is_taken_out(place: str) -> None:
    shorten = PLACES[place]
    for before in range(0, 1_100, 3):
        told = shorten("Ä" * before + " " + KEY + " ÄÄÄ")
        assert "live" not in told, (before, told)
        assert "A1b2" not in told, (before, told)


def test_p21_a_file_of_tools_that_raises(tmp_path: Any) -> None:
    file = tmp_path / "tools.py"
    file.write_text(f"raise ValueError('x' * 280 + ' {KEY}')\n")
    with pytest.raises(BadSetting, match=r"line 1: ValueError: x+ \[key\]") as caught:
        toolbox((), file)
    assert "live" not in str(caught.value)
