"""A reply without Discord: what people use to try a provider, a setting, or their own tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import minamo
from minamo.testing import ScriptedProvider, listen

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"]),
]


async def test_what_a_channel_would_have_been_sent() -> None:
    heard = await listen(ScriptedProvider(["One.\n\n<think>h", "m</think>Two."]))
    assert heard.messages == ["One.", "Two."]
    assert heard.result.status == "completed"
    assert heard.result.thought_log == ("hm",)


async def test_any_text_that_comes_and_a_setting() -> None:
    async def words() -> AsyncIterator[str]:
        for word in ("One.\n", "Two."):
            yield word

    heard = await listen(words(), minamo.StreamConfig(degree=2))
    assert heard.messages == ["One.", "Two."]


async def test_a_failure_is_a_result() -> None:
    broken = minamo.ErrorChunk("rate_limit", "too many", retryable=True)
    heard = await listen(ScriptedProvider(["Half", broken]))
    assert (heard.messages, heard.result.status, heard.result.data) == (["Half"], "error", broken)
