"""A library that streams LLM replies into Discord through an explicit state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazy_exports

if TYPE_CHECKING:
    from collections.abc import Callable

    from minamo.core.chunks import Call as Call
    from minamo.core.chunks import Chunk as Chunk
    from minamo.core.chunks import Citation as Citation
    from minamo.core.chunks import DoneChunk as DoneChunk
    from minamo.core.chunks import ErrorChunk as ErrorChunk
    from minamo.core.chunks import FunctionCall as FunctionCall
    from minamo.core.chunks import TextChunk as TextChunk
    from minamo.core.chunks import Usage as Usage
    from minamo.core.config import HumanizerDegree as HumanizerDegree
    from minamo.core.config import StreamConfig as StreamConfig
    from minamo.core.messages import AllowedMentions as AllowedMentions
    from minamo.core.messages import Button as Button
    from minamo.core.messages import Embed as Embed
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
    from minamo.shell.discord.bot import BotSender as BotSender
    from minamo.shell.discord.history import HistoryLimits as HistoryLimits
    from minamo.shell.discord.hooks import ReplyInfo as ReplyInfo
    from minamo.shell.discord.hooks import StreamEnded as StreamEnded
    from minamo.shell.discord.hooks import StreamStarted as StreamStarted
    from minamo.shell.notices.localization import Languages as Languages
    from minamo.shell.notices.localization import Wording as Wording
    from minamo.shell.notices.notices import NoticeSettings as NoticeSettings
    from minamo.shell.notices.thoughts import ThoughtDisplay as ThoughtDisplay
    from minamo.shell.options import Persona as Persona
    from minamo.shell.options import StreamContext as StreamContext
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
    from minamo.shell.stops.registry import MemoryStops as MemoryStops
    from minamo.shell.stops.registry import RequestOutcome as RequestOutcome
    from minamo.shell.stops.registry import StopRequest as StopRequest
    from minamo.shell.stops.registry import Stops as Stops
    from minamo.shell.stops.registry import StopSignal as StopSignal
    from minamo.shell.telemetry.otel import OpenTelemetry as OpenTelemetry
    from minamo.shell.telemetry.telemetry import StreamInfo as StreamInfo
    from minamo.shell.telemetry.telemetry import Telemetry as Telemetry
    from minamo.shell.turns.channels import LeaseStatus as LeaseStatus
    from minamo.shell.turns.redis_lease import RedisLease as RedisLease
    from minamo.shell.turns.tool_context import ToolContext as ToolContext
    from minamo.shell.turns.tool_context import ToolError as ToolError
    from minamo.shell.turns.tools import Tools as Tools
    from minamo.shell.turns.tools import tool as tool
    from minamo.shell.turns.turn_result import TurnResult as TurnResult
    from minamo.shell.turns.turn_settings import TurnSettings as TurnSettings
    from minamo.wire.conversation import ChatMessage as ChatMessage
    from minamo.wire.conversation import Image as Image
    from minamo.wire.conversation import assistant as assistant
    from minamo.wire.conversation import system as system
    from minamo.wire.conversation import tool_result as tool_result
    from minamo.wire.conversation import user as user
    from minamo.wire.frames import Frame as Frame
    from minamo.wire.limits import WireLimits as WireLimits
    from minamo.wire.options import Tool as Tool

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "minamo.shell.providers.base",
    "ChatRequest": "minamo.shell.providers.base",
    "Anthropic": "minamo.shell.providers.adapters",
    "BadRequest": "minamo.errors",
    "BadSetting": "minamo.errors",
    "BadTrace": "minamo.errors",
    "BotSender": "minamo.shell.discord.bot",
    "Button": "minamo.core.messages",
    "Call": "minamo.core.chunks",
    "ChartError": "minamo.errors",
    "Citation": "minamo.core.chunks",
    "Client": "minamo.shell.client",
    "ClientClosed": "minamo.errors",
    "Timeouts": "minamo.shell.providers.http",
    "Chunk": "minamo.core.chunks",
    "DoneChunk": "minamo.core.chunks",
    "Embed": "minamo.core.messages",
    "ErrorChunk": "minamo.core.chunks",
    "Frame": "minamo.wire.frames",
    "FunctionCall": "minamo.core.chunks",
    "Gemini": "minamo.shell.providers.adapters",
    "HumanizerDegree": "minamo.core.config",
    "Image": "minamo.wire.conversation",
    "Languages": "minamo.shell.notices.localization",
    "LeaseStatus": "minamo.shell.turns.channels",
    "SendOptions": "minamo.shell.delivery.interfaces",
    "HistoryLimits": "minamo.shell.discord.history",
    "MemoryStops": "minamo.shell.stops.registry",
    "ChatMessage": "minamo.wire.conversation",
    "MinamoError": "minamo.errors",
    "NoticeSettings": "minamo.shell.notices.notices",
    "OpenAI": "minamo.shell.providers.adapters",
    "OpenAICompatible": "minamo.shell.providers.adapters",
    "OpenTelemetry": "minamo.shell.telemetry.otel",
    "Overflow": "minamo.shell.delivery.overflow",
    "Persona": "minamo.shell.options",
    "AllowedMentions": "minamo.core.messages",
    "ChatStream": "minamo.shell.providers.base",
    "RequestOutcome": "minamo.shell.stops.registry",
    "Receipt": "minamo.core.messages",
    "ReplyInfo": "minamo.shell.discord.hooks",
    "StreamEnded": "minamo.shell.discord.hooks",
    "StreamStarted": "minamo.shell.discord.hooks",
    "RedisLease": "minamo.shell.turns.redis_lease",
    "RedisStops": "minamo.shell.stops.redis_registry",
    "ScriptedProvider": "minamo.shell.providers.scripted",
    "Sender": "minamo.shell.delivery.interfaces",
    "Stops": "minamo.shell.stops.registry",
    "StreamConfig": "minamo.core.config",
    "StreamContext": "minamo.shell.options",
    "StreamOrchestrator": "minamo.shell.orchestrator",
    "StreamResult": "minamo.core.result",
    "StreamInfo": "minamo.shell.telemetry.telemetry",
    "Telemetry": "minamo.shell.telemetry.telemetry",
    "TextChunk": "minamo.core.chunks",
    "ThoughtDisplay": "minamo.shell.notices.thoughts",
    "Tool": "minamo.wire.options",
    "ToolContext": "minamo.shell.turns.tool_context",
    "ToolError": "minamo.shell.turns.tool_context",
    "Tools": "minamo.shell.turns.tools",
    "TurnResult": "minamo.shell.turns.turn_result",
    "TurnSettings": "minamo.shell.turns.turn_settings",
    "Usage": "minamo.core.chunks",
    "WireLimits": "minamo.wire.limits",
    "StopRequest": "minamo.shell.stops.registry",
    "StopSignal": "minamo.shell.stops.registry",
    "Wording": "minamo.shell.notices.localization",
    "as_chunks": "minamo.shell.providers.scripted",
    "tool": "minamo.shell.turns.tools",
    "assistant": "minamo.wire.conversation",
    "fallback": "minamo.shell.providers.retry",
    "read_trace": "minamo.core.trace",
    "replay": "minamo.inspect.replay",
    "retry": "minamo.shell.providers.retry",
    "system": "minamo.wire.conversation",
    "tool_result": "minamo.wire.conversation",
    "user": "minamo.wire.conversation",
}

__all__ = [
    "Adapter",
    "AllowedMentions",
    "Anthropic",
    "BadRequest",
    "BadSetting",
    "BadTrace",
    "BotSender",
    "Button",
    "Call",
    "ChartError",
    "ChatMessage",
    "ChatRequest",
    "ChatStream",
    "Chunk",
    "Citation",
    "Client",
    "ClientClosed",
    "DoneChunk",
    "Embed",
    "ErrorChunk",
    "Frame",
    "FunctionCall",
    "Gemini",
    "HistoryLimits",
    "HumanizerDegree",
    "Image",
    "Languages",
    "LeaseStatus",
    "MemoryStops",
    "MinamoError",
    "NoticeSettings",
    "OpenAI",
    "OpenAICompatible",
    "OpenTelemetry",
    "Overflow",
    "Persona",
    "Receipt",
    "RedisLease",
    "RedisStops",
    "ReplyInfo",
    "RequestOutcome",
    "ScriptedProvider",
    "SendOptions",
    "Sender",
    "StopRequest",
    "StopSignal",
    "Stops",
    "StreamConfig",
    "StreamContext",
    "StreamEnded",
    "StreamInfo",
    "StreamOrchestrator",
    "StreamResult",
    "StreamStarted",
    "Telemetry",
    "TextChunk",
    "ThoughtDisplay",
    "Timeouts",
    "Tool",
    "ToolContext",
    "ToolError",
    "Tools",
    "TurnResult",
    "TurnSettings",
    "Usage",
    "WireLimits",
    "Wording",
    "__version__",
    "as_chunks",
    "assistant",
    "fallback",
    "read_trace",
    "replay",
    "retry",
    "system",
    "tool",
    "tool_result",
    "user",
]

__getattr__: Callable[[str], object] = lazy_exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
