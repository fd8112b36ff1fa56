"""The orchestrator: streams one reply from a provider to Discord.

It registers the reply for stops, drives it into a lane, reports it to telemetry, and sends the
notice if it failed.  Failures become results; only a cancellation from outside is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache, partial
from operator import attrgetter

import anyio
from attrs import evolve, field, frozen

from minamo.core.chunks import CUT_SHORT, MESSAGE_CHARS_MAX, ErrorChunk
from minamo.core.config import StreamConfig
from minamo.core.messages import Receipt
from minamo.core.redact import shorten
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.errors import BadRequest
from minamo.shell.callbacks import call, log_failure
from minamo.shell.delivery.edit_in_place import EditInPlace, PageSet
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.delivery.typing import pause_s
from minamo.shell.driver import ChunkSource, Driver, NullSink, Watcher
from minamo.shell.notices.notices import NoticeSettings, notice_for, send_notice
from minamo.shell.options import StreamContext
from minamo.shell.providers.base import Adapter, ChatStream
from minamo.shell.stops.registry import MemoryStops, Stops
from minamo.shell.telemetry.metrics import StreamMetrics
from minamo.shell.telemetry.observer import StreamInspector, guarded_inspector
from minamo.shell.telemetry.telemetry import StreamInfo, StreamLog, Telemetry, provider_name, safely

_LOG = logging.getLogger("minamo.stream")


@frozen
class StreamOrchestrator:
    """The services that all streams of one bot share, and the entry points to run one."""

    lanes: Lanes = field(repr=False)
    stops: Stops = field(factory=MemoryStops, repr=False, kw_only=True)
    notices: NoticeSettings = field(factory=NoticeSettings, kw_only=True)
    telemetry: Telemetry = field(factory=StreamLog, kw_only=True, converter=safely)
    inspector: StreamInspector | None = field(
        default=None, kw_only=True, repr=False, converter=guarded_inspector
    )

    async def stream_to_discord(
        self, provider: ChunkSource, config: StreamConfig, context: StreamContext
    ) -> StreamResult:
        """Send one reply to its channel; it can be stopped by its id and by its channel.

        Raises nothing but a cancellation from outside.
        """
        return await self._run_registered(provider, config, context, None)

    async def stream_once(
        self, provider: ChunkSource, config: StreamConfig, context: StreamContext
    ) -> StreamResult:
        """Send one reply under the rolling timeout of a provider's call.

        Every chunk and every receipt restarts that timeout.
        """
        timeout_ms = config.sdk_call_timeout_ms
        return await self._run_registered(provider, config, context, timeout_ms)

    async def _run_registered(
        self,
        provider: ChunkSource,
        config: StreamConfig,
        context: StreamContext,
        call_timeout_ms: int | None,
    ) -> StreamResult:
        """Run a stream while registered for stops; a refused registration is an error result."""
        with ExitStack() as stack:
            try:
                registered = self.stops.register(
                    context.stream_id,
                    context.channel_id,
                    context.stop_signal,
                    asker=context.requester,
                )
                stack.enter_context(registered)
            except BadRequest as error:
                _LOG.warning("a stream was not begun: %s", error)
                return StreamResult(status="error", data=ErrorChunk("api_error", str(error)))
            return await self.run(provider, config, context, call_timeout_ms=call_timeout_ms)

    async def run(
        self,
        provider: ChunkSource,
        config: StreamConfig,
        context: StreamContext,
        *,
        call_timeout_ms: int | None = None,
    ) -> StreamResult:
        """Send one reply, or one pass of a turn, that the caller has registered for stops."""
        stream = Stream(config)
        if context.current_turn_model_parts is not None:
            stream.actions.model_parts = context.current_turn_model_parts
        metrics = StreamMetrics(anyio.current_time())
        watch: list[Watcher] = [metrics.watch]
        inspector = self.inspector
        recorder = None if inspector is None else inspector.open_stream(context.channel_id, stream)
        if recorder is not None:
            watch.append(recorder.happened)
        driver = Driver(
            stream,
            stop_signal=context.stop_signal,
            progress=context.on_stream_progress,
            call_timeout_ms=call_timeout_ms,
            watch=watch,
        )
        span = self.telemetry.stream_started(_info(provider, context))
        result: StreamResult | None = None
        try:
            receipts = await self._deliver_safely(provider, driver, context)
            result = evolve(stream.result(metrics=metrics.figures()), receipts=receipts)
            result = await self._notify(result, context)
        finally:
            # Also if the caller is cancelled, here or while the notice is sent.
            if result is not None:
                span.ended(result)
            else:
                span.cancelled()
                if recorder is not None:
                    recorder.happened(anyio.current_time(), "cancelled")
        return result

    def _growing(self, stream: Stream, context: StreamContext) -> EditInPlace:
        config, inspector = stream.actions.config, self.inspector
        pages = PageSet(
            limit=config.max_message_length,
            tables=config.tables,
            masked_links="masked_link" in config.clean_off,
            fresh=context.fresh,
            most=config.send_message_limit,
            watch=None if inspector is None else inspector.observer("edit", context.channel_id),
        )
        return EditInPlace(stream, pages)

    async def _deliver_safely(
        self, provider: ChunkSource, driver: Driver, context: StreamContext
    ) -> tuple[Receipt, ...]:
        try:
            return await self._deliver(provider, driver, context)
        except Exception as error:  # noqa: BLE001 - a bug of ours fails the stream only
            log_failure(_LOG, "a stream could not be delivered", error)
            driver.stream.fail(ErrorChunk("api_error", "internal error; the log has it"))
            driver.stream.flushed()
            return ()

    async def _deliver(
        self, provider: ChunkSource, driver: Driver, context: StreamContext
    ) -> tuple[Receipt, ...]:
        stream = driver.stream
        config = stream.actions.config
        if config.suppress_text_output:
            await driver.run(provider, NullSink(stream))
            return ()
        growing = self._growing(stream, context) if context.edit else None
        options = evolve(context.options, reply_to=None) if context.scene else context.options
        if growing is None:
            options = evolve(options, pause_s=pause_s if config.degree else None)
        else:  # edited pages have no overflow to put elsewhere
            options = evolve(options, overflow=None)

        def on_page(receipt: Receipt) -> None:
            assert growing is not None
            growing.on_receipt(receipt)
            if queue.typing is not None:  # a growing message shows the activity itself
                queue.typing.hide()
            driver.on_receipt(receipt)

        async with self.lanes.open(
            context.channel_id,
            context.sender,
            growing or stream.actions.outbox,
            stream_id=context.stream_id,
            options=options,
            typing=context.typing,
            on_receipt=driver.on_receipt if growing is None else on_page,
            on_limit=driver.limit_reached,
        ) as queue:
            if growing is not None:
                driver.on_text_changed = _then(growing.touch, queue.deliver)
                driver.on_settled = growing.settle
            await driver.run(provider, queue)
        return tuple(queue.receipts)

    async def _notify(self, result: StreamResult, context: StreamContext) -> StreamResult:
        """Send the error notice for *result*, if it needs one: the only path for such embeds."""
        ended_well = result.status == "completed" and result.finish_reason not in CUT_SHORT
        if ended_well or context.suppress_user_errors:
            return result
        embed = notice_for(result, context.wording, self.notices)
        if embed is None:
            return result
        receipt = await send_notice(
            self.lanes,
            context.sender,
            context.channel_id,
            embed,
            stream_id=context.stream_id,
            stop_signal=context.stop_signal,
        )
        return evolve(result, receipts=(*result.receipts, receipt))


def _info(provider: object, context: StreamContext) -> StreamInfo:
    """Return the telemetry description of a stream and its provider."""
    host = model = ""
    if isinstance(provider, ChatStream) and isinstance(provider.adapter, Adapter):
        # Guarded: an adapter may be anyone's.
        failed, names = call(attrgetter("host", "model"), provider.adapter)
        if not failed:
            host, model = [_short(name) if isinstance(name, str) else "" for name in names]
    return StreamInfo(
        stream_id=context.stream_id,
        channel_id=context.channel_id,
        provider=provider_name(host),
        model=model,
        host=host,
    )


# The same few hosts and models in every stream.
_short = lru_cache(maxsize=64)(partial(shorten, most=MESSAGE_CHARS_MAX))


def _then(*steps: Callable[[], object]) -> Callable[[], None]:
    def every() -> None:
        for step in steps:
            step()

    return every
