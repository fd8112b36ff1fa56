"""A conversation that is ready to be sent, and what an adapter is.

`async for chunk in conversation` asks the provider; doing it twice asks twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from attrs import field, frozen

from minamo.core.chunks import Chunk, Error
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.wire.stream import Frame

if TYPE_CHECKING:
    from minamo.shell.context import StreamContext

T = TypeVar("T")


@runtime_checkable
class Adapter(Protocol):
    """Our code for one dialect, or anybody's.

    It may also have ``on_raw_chunk(frame)`` and ``on_provider_error(error)``, which are told of
    every frame and of the error that ends a stream.
    """

    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Ask the provider and give its frames as they come; failures are frames too."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """The chunks of one frame: none, one or several."""


@frozen(slots=True)
class PreparedConversation:
    """An adapter and the request it will send."""

    adapter: Adapter
    request: Any = field(repr=False)

    async def stream_to_discord(
        self, context: StreamContext, config: StreamConfig | None = None
    ) -> StreamResult:
        """Carry the reply to where *context* says; all of it is the orchestrator's work."""
        how = config or StreamConfig()
        return await context.orchestrator.stream_to_discord(self, how, context)

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Ask, and give chunks until the provider is done or failed.  Nothing is raised."""
        adapter = self.adapter
        process_chunk = adapter.process_chunk
        on_raw_chunk = getattr(adapter, "on_raw_chunk", None)
        on_provider_error = getattr(adapter, "on_provider_error", None)
        failure: Error | None = None
        try:
            async with closing(adapter.start_stream(self.request)) as frames:
                async for frame in frames:
                    if on_raw_chunk is not None:
                        on_raw_chunk(frame)
                    for chunk in process_chunk(frame):
                        if chunk.__class__ is Error:
                            failure = chunk
                            break
                        yield chunk
                    if failure is not None:
                        break
        except Exception as error:  # noqa: BLE001 - a broken adapter is a failed stream, no crash
            # The name only: messages can hold secrets.
            failure = Error("api_error", f"the adapter failed ({type(error).__name__})")
        if failure is not None:
            if on_provider_error is not None:
                on_provider_error(failure)
            yield failure


@asynccontextmanager
async def closing(source: AsyncIterable[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Iterate *source* and close it at once afterwards, if it can be closed."""
    items = source.__aiter__()
    try:
        yield items
    finally:
        aclose = getattr(items, "aclose", None)
        if aclose is not None:
            await aclose()
