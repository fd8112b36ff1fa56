"""Retry and fallback between conversations, only before the first visible character.

After that a second attempt would repeat text already shown, so an error is final.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator

import anyio
from attrs import field, frozen

from minamo.core.checks import SECONDS_MAX, is_seconds, is_whole, shown
from minamo.core.chunks import Chunk, ErrorChunk, FileChunk, FunctionCall, TextChunk
from minamo.errors import BadRequest
from minamo.shell.providers.base import CheckedSource, closing
from minamo.shell.providers.scripted import as_chunks
from minamo.shell.providers.sdk_streams import SourceItem

Conversation = AsyncIterable[SourceItem]
"""An iterable that sends a new request on each iteration, such as `llm.ask(…)`."""
# Far more attempts than can be useful; a larger number is a mistake.
_ATTEMPTS_MAX = 100
# Each wait is twice the previous one; beyond this many doublings `wait_max_s` applies anyway.
_DOUBLINGS_MAX = 32


@frozen(slots=True)
class Retrying(CheckedSource):
    """A conversation that is restarted if it fails before its first visible output."""

    conversation: Conversation
    attempts: int = 3
    wait_max_s: float = 30.0
    """If the provider asks for a longer wait than this, its error is final."""
    backoff_s: float = 0.5
    """The first wait if the provider names none; each further wait is twice as long."""

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Yield the first attempt that does not fail before visible output, or the last error."""
        number = 0
        while True:
            number += 1
            attempt = _Attempt(self.conversation)
            async with closing(attempt) as chunks:
                async for chunk in chunks:
                    yield chunk
            error = attempt.error
            if error is None:
                return
            wait = error.retry_after
            if wait is None:
                wait = min(self.backoff_s * 2 ** min(number - 1, _DOUBLINGS_MAX), self.wait_max_s)
            if not error.retryable or wait > self.wait_max_s or number == self.attempts:
                yield error
                return
            # Outside the `async with`: the failed connection is closed before the wait.
            await anyio.sleep(wait)


@frozen(slots=True)
class Fallback(CheckedSource):
    """Alternative conversations; the first that does not fail before visible output is used."""

    conversations: tuple[Conversation, ...] = field(repr=False)

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Yield the first conversation that does not fail before visible output, or an error."""
        error: ErrorChunk | None = None
        for conversation in self.conversations:
            attempt = _Attempt(conversation)
            async with closing(attempt) as chunks:
                async for chunk in chunks:
                    yield chunk
            error = attempt.error
            # Blocked content must not be offered to another provider.
            if error is None or error.kind == "content_blocked":
                break
        if error is not None:
            yield error


class _Attempt:
    """One request; an error before visible output ends it and is kept, not yielded."""

    __slots__ = ("_conversation", "error")

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.error: ErrorChunk | None = None

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        is_visible = False
        async with closing(as_chunks(self._conversation)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, ErrorChunk) and not is_visible:
                    self.error = chunk
                    return
                is_visible |= isinstance(chunk, FunctionCall | FileChunk) or (
                    isinstance(chunk, TextChunk) and chunk.content != ""
                )
                yield chunk


def retry(
    conversation: Conversation,
    *,
    attempts: int = 3,
    wait_max_s: float = 30.0,
    backoff_s: float = 0.5,
) -> Retrying:
    """Return a conversation that restarts after a retryable error, waiting as the provider asks."""
    _check_source("retry", conversation)
    if isinstance(conversation, AsyncIterator):
        raise BadRequest(
            f"retry asks again by iterating anew, and a {type(conversation).__name__} can be "
            "iterated once; give llm.ask(…), or an object whose __aiter__ asks"
        )
    if not is_whole(attempts, 1, _ATTEMPTS_MAX):
        may = f"a whole number, 1 to {_ATTEMPTS_MAX}"
        raise BadRequest(f"retry: attempts must be {may}; it is {shown(attempts)}")
    for name, seconds in (("wait_max_s", wait_max_s), ("backoff_s", backoff_s)):
        if not is_seconds(seconds):
            may = f"a number of seconds, 0 to {SECONDS_MAX}"
            raise BadRequest(f"retry: {name} must be {may}; it is {shown(seconds)}")
    return Retrying(conversation, attempts, wait_max_s, backoff_s)


def fallback(first: Conversation, *others: Conversation) -> Fallback:
    """Return a conversation that tries the next one (another key, model or provider) on failure."""
    for conversation in (first, *others):
        _check_source("fallback", conversation)
    return Fallback((first, *others))


def _check_source(name: str, conversation: object) -> None:
    if not isinstance(conversation, AsyncIterable):
        kind = type(conversation).__name__
        raise BadRequest(
            f"{name} takes conversations, such as llm.ask(…), and this is of type {kind}"
        )
