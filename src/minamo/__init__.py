"""A library that streams LLM replies into Discord through an explicit state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import homes_of, lazy_exports

if TYPE_CHECKING:
    from collections.abc import Callable

    from minamo.core.chunks import Call as Call
    from minamo.core.chunks import Chunk as Chunk
    from minamo.core.chunks import Citation as Citation
    from minamo.core.chunks import DoneChunk as DoneChunk
    from minamo.core.chunks import ErrorChunk as ErrorChunk
    from minamo.core.chunks import FileChunk as FileChunk
    from minamo.core.chunks import FunctionCall as FunctionCall
    from minamo.core.chunks import TextChunk as TextChunk
    from minamo.core.chunks import Usage as Usage
    from minamo.core.config import HumanizerDegree as HumanizerDegree
    from minamo.core.config import StreamConfig as StreamConfig
    from minamo.core.messages import AllowedMentions as AllowedMentions
    from minamo.core.messages import Button as Button
    from minamo.core.messages import Embed as Embed
    from minamo.core.messages import Extras as Extras
    from minamo.core.messages import Receipt as Receipt
    from minamo.core.result import StreamResult as StreamResult
    from minamo.core.trace import read_trace as read_trace
    from minamo.errors import BadRequest as BadRequest
    from minamo.errors import BadSetting as BadSetting
    from minamo.errors import BadTrace as BadTrace
    from minamo.errors import ChartError as ChartError
    from minamo.errors import ClientClosed as ClientClosed
    from minamo.errors import MinamoError as MinamoError
    from minamo.inspect.replay import replay as replay
    from minamo.shell.client import Client as Client
    from minamo.shell.delivery.interfaces import Sender as Sender
    from minamo.shell.delivery.interfaces import SendOptions as SendOptions
    from minamo.shell.delivery.overflow import Overflow as Overflow
    from minamo.shell.delivery.pacing import Pacer as Pacer
    from minamo.shell.discord.bot import BotSender as BotSender
    from minamo.shell.discord.history import HistoryLimits as HistoryLimits
    from minamo.shell.discord.hooks import ReplyInfo as ReplyInfo
    from minamo.shell.discord.hooks import StreamEnded as StreamEnded
    from minamo.shell.discord.hooks import StreamStarted as StreamStarted
    from minamo.shell.discord.targets import ReplyTarget as ReplyTarget
    from minamo.shell.driver import ChunkSource as ChunkSource
    from minamo.shell.notices.localization import Languages as Languages
    from minamo.shell.notices.localization import Wording as Wording
    from minamo.shell.notices.notices import NoticeSettings as NoticeSettings
    from minamo.shell.notices.thoughts import ThoughtDisplay as ThoughtDisplay
    from minamo.shell.options import Persona as Persona
    from minamo.shell.options import StreamContext as StreamContext
    from minamo.shell.options import StreamOptions as StreamOptions
    from minamo.shell.orchestrator import StreamOrchestrator as StreamOrchestrator
    from minamo.shell.providers.adapters import Anthropic as Anthropic
    from minamo.shell.providers.adapters import Gemini as Gemini
    from minamo.shell.providers.adapters import OpenAI as OpenAI
    from minamo.shell.providers.adapters import OpenAICompatible as OpenAICompatible
    from minamo.shell.providers.base import Adapter as Adapter
    from minamo.shell.providers.base import ChatRequest as ChatRequest
    from minamo.shell.providers.base import ChatStream as ChatStream
    from minamo.shell.providers.http import Timeouts as Timeouts
    from minamo.shell.providers.retry import fallback as fallback
    from minamo.shell.providers.retry import retry as retry
    from minamo.shell.providers.scripted import ScriptedProvider as ScriptedProvider
    from minamo.shell.providers.scripted import as_chunks as as_chunks
    from minamo.shell.stops.redis_registry import RedisStops as RedisStops
    from minamo.shell.stops.registry import AddressArguments as AddressArguments
    from minamo.shell.stops.registry import MemoryStops as MemoryStops
    from minamo.shell.stops.registry import RequestArguments as RequestArguments
    from minamo.shell.stops.registry import RequestOutcome as RequestOutcome
    from minamo.shell.stops.registry import StopArguments as StopArguments
    from minamo.shell.stops.registry import StopRequest as StopRequest
    from minamo.shell.stops.registry import Stops as Stops
    from minamo.shell.stops.registry import StopSignal as StopSignal
    from minamo.shell.telemetry.observer import StreamInspector as StreamInspector
    from minamo.shell.telemetry.otel import OpenTelemetry as OpenTelemetry
    from minamo.shell.telemetry.telemetry import StreamInfo as StreamInfo
    from minamo.shell.telemetry.telemetry import Telemetry as Telemetry
    from minamo.shell.turns.channels import Lease as Lease
    from minamo.shell.turns.channels import LeaseStatus as LeaseStatus
    from minamo.shell.turns.channels import Policy as Policy
    from minamo.shell.turns.mcp import McpServer as McpServer
    from minamo.shell.turns.redis_lease import RedisLease as RedisLease
    from minamo.shell.turns.tool_job import ToolContext as ToolContext
    from minamo.shell.turns.tool_job import ToolError as ToolError
    from minamo.shell.turns.tools import Tools as Tools
    from minamo.shell.turns.tools import tool as tool
    from minamo.shell.turns.turn import Ask as Ask
    from minamo.shell.turns.turn import ChatProvider as ChatProvider
    from minamo.shell.turns.turn_result import TurnResult as TurnResult
    from minamo.shell.turns.turn_result import TurnSettings as TurnSettings
    from minamo.wire.conversation import ChatMessage as ChatMessage
    from minamo.wire.conversation import Image as Image
    from minamo.wire.conversation import assistant as assistant
    from minamo.wire.conversation import system as system
    from minamo.wire.conversation import tool_result as tool_result
    from minamo.wire.conversation import user as user
    from minamo.wire.files import File as File
    from minamo.wire.frames import Frame as Frame
    from minamo.wire.limits import WireLimits as WireLimits
    from minamo.wire.options import Tool as Tool

__version__ = "0.1.0"

_EXPORTS = {
    "minamo.core.chunks": (
        "Call Chunk Citation DoneChunk ErrorChunk FileChunk FunctionCall TextChunk Usage"
    ),
    "minamo.core.config": "HumanizerDegree StreamConfig",
    "minamo.core.messages": "AllowedMentions Button Embed Extras Receipt",
    "minamo.core.result": "StreamResult",
    "minamo.core.trace": "read_trace",
    "minamo.errors": "BadRequest BadSetting BadTrace ChartError ClientClosed MinamoError",
    "minamo.inspect.replay": "replay",
    "minamo.shell.client": "Client",
    "minamo.shell.delivery.interfaces": "SendOptions Sender",
    "minamo.shell.delivery.overflow": "Overflow",
    "minamo.shell.delivery.pacing": "Pacer",
    "minamo.shell.discord.bot": "BotSender",
    "minamo.shell.discord.history": "HistoryLimits",
    "minamo.shell.discord.hooks": "ReplyInfo StreamEnded StreamStarted",
    "minamo.shell.discord.targets": "ReplyTarget",
    "minamo.shell.driver": "ChunkSource",
    "minamo.shell.notices.localization": "Languages Wording",
    "minamo.shell.notices.notices": "NoticeSettings",
    "minamo.shell.notices.thoughts": "ThoughtDisplay",
    "minamo.shell.options": "Persona StreamContext StreamOptions",
    "minamo.shell.orchestrator": "StreamOrchestrator",
    "minamo.shell.providers.adapters": "Anthropic Gemini OpenAI OpenAICompatible",
    "minamo.shell.providers.base": "Adapter ChatRequest ChatStream",
    "minamo.shell.providers.http": "Timeouts",
    "minamo.shell.providers.retry": "fallback retry",
    "minamo.shell.providers.scripted": "ScriptedProvider as_chunks",
    "minamo.shell.stops.redis_registry": "RedisStops",
    "minamo.shell.stops.registry": (
        "AddressArguments MemoryStops RequestArguments RequestOutcome StopArguments StopRequest "
        "StopSignal Stops"
    ),
    "minamo.shell.telemetry.observer": "StreamInspector",
    "minamo.shell.telemetry.otel": "OpenTelemetry",
    "minamo.shell.telemetry.telemetry": "StreamInfo Telemetry",
    "minamo.shell.turns.channels": "Lease LeaseStatus Policy",
    "minamo.shell.turns.mcp": "McpServer",
    "minamo.shell.turns.redis_lease": "RedisLease",
    "minamo.shell.turns.tool_job": "ToolContext ToolError",
    "minamo.shell.turns.tools": "Tools tool",
    "minamo.shell.turns.turn": "Ask ChatProvider",
    "minamo.shell.turns.turn_result": "TurnResult TurnSettings",
    "minamo.wire.conversation": "ChatMessage Image assistant system tool_result user",
    "minamo.wire.files": "File",
    "minamo.wire.frames": "Frame",
    "minamo.wire.limits": "WireLimits",
    "minamo.wire.options": "Tool",
}

__all__ = sorted(["__version__", *homes_of(_EXPORTS)])

__getattr__: Callable[[str], object] = lazy_exports(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return sorted(__all__)
