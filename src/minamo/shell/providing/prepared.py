"""A conversation that is ready to be sent, and what an adapter is.

`async for chunk in conversation` asks the provider; doing it twice asks twice.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from attrs import field, frozen

from minamo.core.chunks import Chunk, Error, Text
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.result import StreamResult
from minamo.shell.callbacks import Guarded, refuse_async
from minamo.shell.environment import stream_config
from minamo.shell.raising import place_of
from minamo.wire.stream import Frame

if TYPE_CHECKING:
    from minamo.shell.context import StreamContext

T = TypeVar("T")
_LOG = logging.getLogger("minamo.stream")
_HOOKS = ("on_raw_chunk", "on_provider_error")


@runtime_checkable
class Adapter(Protocol):
    """Our code for one dialect, or anybody's.

    It may also have ``on_raw_chunk(frame)`` and ``on_provider_error(error)``, plain functions
    which are told of every frame and of the error that ends a stream.
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

    def __attrs_post_init__(self) -> None:
        for name in _HOOKS:
            refuse_async(f"{type(self.adapter).__name__}.{name}", self._hook(name))

    async def stream_to_discord(
        self, context: StreamContext, config: StreamConfig | None = None
    ) -> StreamResult:
        """Carry the reply to where *context* says; all of it is the orchestrator's work."""
        how = config or stream_config()
        return await context.orchestrator.stream_to_discord(self, how, context)

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Ask, and give chunks until the provider is done or failed.  Nothing is raised."""
        on_raw_chunk = self._hook("on_raw_chunk")
        on_provider_error = self._hook("on_provider_error")
        failure: Error | None = None
        try:
            process_chunk = self.adapter.process_chunk
            if on_raw_chunk is not None:
                on_raw_chunk = Guarded("on_raw_chunk", on_raw_chunk, _LOG)
            async with closing(self.adapter.start_stream(self.request)) as frames:
                async for frame in frames:
                    if on_raw_chunk is not None:
                        on_raw_chunk(frame)
                    for said in process_chunk(frame):
                        # Nearly all are like this; the rest of it is looked at by the driver.
                        if said.__class__ is Text and said.content.__class__ is str:
                            yield said
                            continue
                        chunk, problem = as_chunk(said)
                        if problem:
                            _LOG.warning("a chunk of an adapter is wrong: %s", problem)
                        if chunk.__class__ is Error:
                            failure = chunk
                            break
                        yield chunk
                    if failure is not None:
                        break
        except Exception as error:  # noqa: BLE001 - a broken adapter is a failed stream, no crash
            # The name and the place only: messages can hold secrets.
            _LOG.warning("an adapter raised %s at %s", type(error).__name__, place_of(error))
            failure = Error("api_error", f"the adapter failed ({type(error).__name__})")
        if failure is not None:
            if on_provider_error is not None:
                Guarded("on_provider_error", on_provider_error, _LOG)(failure)
            yield failure

    def _hook(self, name: str) -> Any:
        return getattr(self.adapter, name, None)


@asynccontextmanager
async def closing(source: AsyncIterable[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Iterate *source* and close it at once afterwards, if it can be closed."""
    items = source.__aiter__()
    try:
        yield items
    finally:
        aclose = getattr(items, "aclose", None)
        if aclose is not None:
            try:
                await aclose()
            except Exception as error:  # noqa: BLE001 - other people's code; all of it was read
                kind = type(error).__name__
                _LOG.warning("closing a source raised %s at %s", kind, place_of(error))
