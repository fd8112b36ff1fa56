"""Stream LLM replies into Discord through an explicit state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.core.chunks import Call as Call
    from minamo.core.chunks import Done as Done
    from minamo.core.chunks import Error as Error
    from minamo.core.chunks import FunctionCall as FunctionCall
    from minamo.core.chunks import Text as Text
    from minamo.core.chunks import Usage as Usage
    from minamo.core.config import HumanizerDegree as HumanizerDegree
    from minamo.core.config import StreamConfig as StreamConfig
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
    from minamo.shell.delivery.interfaces import Button as Button
    from minamo.shell.delivery.interfaces import Embed as Embed
    from minamo.shell.delivery.interfaces import Manner as Manner
    from minamo.shell.delivery.interfaces import Ping as Ping
    from minamo.shell.delivery.interfaces import Sender as Sender
    from minamo.shell.delivery.overflow import Overflow as Overflow
    from minamo.shell.delivery.receipts import Receipt as Receipt
    from minamo.shell.discord.bot import BotSender as BotSender
    from minamo.shell.discord.history import Memory as Memory
    from minamo.shell.notices.localization import Languages as Languages
    from minamo.shell.notices.localization import Wording as Wording
    from minamo.shell.notices.notices import NoticeSettings as NoticeSettings
    from minamo.shell.notices.thoughts import Thoughts as Thoughts
    from minamo.shell.options import Persona as Persona
    from minamo.shell.options import StreamContext as StreamContext
    from minamo.shell.options import stream_config as stream_config
    from minamo.shell.orchestrator import StreamOrchestrator as StreamOrchestrator
    from minamo.shell.providers.adapters import Anthropic as Anthropic
    from minamo.shell.providers.adapters import Gemini as Gemini
    from minamo.shell.providers.adapters import OpenAICompatible as OpenAICompatible
    from minamo.shell.providers.endpoint import PreparedConversation as PreparedConversation
    from minamo.shell.providers.http import Deadlines as Deadlines
    from minamo.shell.providers.retry import fallback as fallback
    from minamo.shell.providers.retry import retry as retry
    from minamo.shell.providers.scripted import Scripted as Scripted
    from minamo.shell.providers.scripted import as_chunks as as_chunks
    from minamo.shell.stops.redis_registry import RedisStops as RedisStops
    from minamo.shell.stops.registry import MemoryStops as MemoryStops
    from minamo.shell.stops.registry import Reach as Reach
    from minamo.shell.stops.registry import Stops as Stops
    from minamo.shell.stops.requests import Wish as Wish
    from minamo.shell.stops.requests import Wishes as Wishes
    from minamo.shell.telemetry.otel import OpenTelemetry as OpenTelemetry
    from minamo.shell.telemetry.telemetry import Telemetry as Telemetry
    from minamo.shell.turns.leases import Leased as Leased
    from minamo.shell.turns.redis_lease import RedisLease as RedisLease
    from minamo.shell.turns.tool_context import ToolContext as ToolContext
    from minamo.shell.turns.tool_context import ToolError as ToolError
    from minamo.shell.turns.tools import Tools as Tools
    from minamo.shell.turns.tools import as_tool as as_tool
    from minamo.shell.turns.turn_result import TurnResult as TurnResult
    from minamo.shell.turns.turn_settings import TurnSettings as TurnSettings
    from minamo.wire.conversation import Image as Image
    from minamo.wire.conversation import Message as Message
    from minamo.wire.conversation import assistant as assistant
    from minamo.wire.conversation import system as system
    from minamo.wire.conversation import tool as tool
    from minamo.wire.conversation import user as user
    from minamo.wire.frames import Frame as Frame
    from minamo.wire.limits import WireLimits as WireLimits
    from minamo.wire.options import Tool as Tool

__version__ = "0.1.0"

_HOMES = {
    "Anthropic": "minamo.shell.providers.adapters",
    "BadRequest": "minamo.errors",
    "BadSetting": "minamo.errors",
    "BadTrace": "minamo.errors",
    "BotSender": "minamo.shell.discord.bot",
    "Button": "minamo.shell.delivery.interfaces",
    "Call": "minamo.core.chunks",
    "ChartError": "minamo.errors",
    "Client": "minamo.shell.client",
    "ClientClosed": "minamo.errors",
    "Deadlines": "minamo.shell.providers.http",
    "Done": "minamo.core.chunks",
    "Embed": "minamo.shell.delivery.interfaces",
    "Error": "minamo.core.chunks",
    "Frame": "minamo.wire.frames",
    "FunctionCall": "minamo.core.chunks",
    "Gemini": "minamo.shell.providers.adapters",
    "HumanizerDegree": "minamo.core.config",
    "Image": "minamo.wire.conversation",
    "Languages": "minamo.shell.notices.localization",
    "Leased": "minamo.shell.turns.leases",
    "Manner": "minamo.shell.delivery.interfaces",
    "Memory": "minamo.shell.discord.history",
    "MemoryStops": "minamo.shell.stops.registry",
    "Message": "minamo.wire.conversation",
    "MinamoError": "minamo.errors",
    "NoticeSettings": "minamo.shell.notices.notices",
    "OpenAICompatible": "minamo.shell.providers.adapters",
    "OpenTelemetry": "minamo.shell.telemetry.otel",
    "Overflow": "minamo.shell.delivery.overflow",
    "Persona": "minamo.shell.options",
    "Ping": "minamo.shell.delivery.interfaces",
    "PreparedConversation": "minamo.shell.providers.endpoint",
    "Reach": "minamo.shell.stops.registry",
    "Receipt": "minamo.shell.delivery.receipts",
    "RedisLease": "minamo.shell.turns.redis_lease",
    "RedisStops": "minamo.shell.stops.redis_registry",
    "Scripted": "minamo.shell.providers.scripted",
    "Sender": "minamo.shell.delivery.interfaces",
    "Stops": "minamo.shell.stops.registry",
    "StreamConfig": "minamo.core.config",
    "StreamContext": "minamo.shell.options",
    "StreamOrchestrator": "minamo.shell.orchestrator",
    "StreamResult": "minamo.core.result",
    "Telemetry": "minamo.shell.telemetry.telemetry",
    "Text": "minamo.core.chunks",
    "Thoughts": "minamo.shell.notices.thoughts",
    "Tool": "minamo.wire.options",
    "ToolContext": "minamo.shell.turns.tool_context",
    "ToolError": "minamo.shell.turns.tool_context",
    "Tools": "minamo.shell.turns.tools",
    "TurnResult": "minamo.shell.turns.turn_result",
    "TurnSettings": "minamo.shell.turns.turn_settings",
    "Usage": "minamo.core.chunks",
    "WireLimits": "minamo.wire.limits",
    "Wish": "minamo.shell.stops.requests",
    "Wishes": "minamo.shell.stops.requests",
    "Wording": "minamo.shell.notices.localization",
    "as_chunks": "minamo.shell.providers.scripted",
    "as_tool": "minamo.shell.turns.tools",
    "assistant": "minamo.wire.conversation",
    "fallback": "minamo.shell.providers.retry",
    "read_trace": "minamo.core.trace",
    "replay": "minamo.inspect.replay",
    "retry": "minamo.shell.providers.retry",
    "stream_config": "minamo.shell.options",
    "system": "minamo.wire.conversation",
    "tool": "minamo.wire.conversation",
    "user": "minamo.wire.conversation",
}

__all__ = [
    "Anthropic",
    "BadRequest",
    "BadSetting",
    "BadTrace",
    "BotSender",
    "Button",
    "Call",
    "ChartError",
    "Client",
    "ClientClosed",
    "Deadlines",
    "Done",
    "Embed",
    "Error",
    "Frame",
    "FunctionCall",
    "Gemini",
    "HumanizerDegree",
    "Image",
    "Languages",
    "Leased",
    "Manner",
    "Memory",
    "MemoryStops",
    "Message",
    "MinamoError",
    "NoticeSettings",
    "OpenAICompatible",
    "OpenTelemetry",
    "Overflow",
    "Persona",
    "Ping",
    "PreparedConversation",
    "Reach",
    "Receipt",
    "RedisLease",
    "RedisStops",
    "Scripted",
    "Sender",
    "Stops",
    "StreamConfig",
    "StreamContext",
    "StreamOrchestrator",
    "StreamResult",
    "Telemetry",
    "Text",
    "Thoughts",
    "Tool",
    "ToolContext",
    "ToolError",
    "Tools",
    "TurnResult",
    "TurnSettings",
    "Usage",
    "WireLimits",
    "Wish",
    "Wishes",
    "Wording",
    "__version__",
    "as_chunks",
    "as_tool",
    "assistant",
    "fallback",
    "read_trace",
    "replay",
    "retry",
    "stream_config",
    "system",
    "tool",
    "user",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
