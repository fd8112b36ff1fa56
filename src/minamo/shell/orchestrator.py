"""One reply from a provider to Discord: the way in that the seeds describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import evolve, field, frozen

from minamo.core.config import HumanizerDegree, StreamConfig
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.shell.context import StreamContext
from minamo.shell.drive import Driver, Source, Watch
from minamo.shell.idle import Idle
from minamo.shell.lanes import Lanes
from minamo.shell.receipts import Receipt
from minamo.shell.stops import MemoryStops, Stops
from minamo.shell.typing import pause_for


@frozen
class StreamOrchestrator:
    """What all streams of one bot share."""

    lanes: Lanes = field(repr=False)
    stops: Stops = field(factory=MemoryStops, repr=False, kw_only=True)

    async def stream_to_discord(
        self, provider: Source, config: StreamConfig, context: StreamContext
    ) -> StreamResult:
        """Carry one reply to its channel.  Nothing is raised but a cancellation from outside."""
        return await self._stream(provider, config, context)

    async def stream_once(
        self, provider: Source, config: StreamConfig, context: StreamContext
    ) -> StreamResult:
        """The same as one pass of a tool loop: with the rolling timeout of a provider's call.

        Every chunk and every receipt is a sign of life and winds it up again.
        """
        return await self._stream(provider, config, context, config.sdk_call_timeout_ms)

    async def _stream(
        self,
        provider: Source,
        config: StreamConfig,
        context: StreamContext,
        call_timeout_ms: int | None = None,
    ) -> StreamResult:
        stream = Stream(config)
        if context.current_turn_model_parts is not None:
            stream.actions.model_parts = context.current_turn_model_parts
        driver = Driver(
            stream,
            wishes=context.wishes,
            progress=context.on_stream_progress,
            call_timeout_ms=call_timeout_ms,
        )
        with self.stops.register(context.stream_id, context.channel_id, context.wishes):
            receipts = await self._deliver(provider, driver, context)
        return evolve(stream.result(), receipts=receipts)

    async def _deliver(
        self, provider: Source, driver: Driver, context: StreamContext
    ) -> tuple[Receipt, ...]:
        stream = driver.stream
        config = stream.actions.config
        if config.suppress_text_output:
            await driver.run(provider, Idle(stream))
            return ()
        manner = evolve(context.manner, pause_s=pause_for(HumanizerDegree(config.degree)))
        async with self.lanes.open(
            context.channel_id,
            context.sender,
            stream.actions.outbox,
            stream_id=context.stream_id,
            manner=manner,
            typing=context.typing,
            heard=driver.heard,
            limit_reached=driver.limit_reached,
        ) as dispatch:
            await driver.run(provider, dispatch)
        return tuple(dispatch.receipts)
