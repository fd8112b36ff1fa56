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
    from minamo.shell.context import StreamContext as StreamContext
    from minamo.shell.discord.bot import BotSender as BotSender
    from minamo.shell.discord.history import Memory as Memory
    from minamo.shell.environment import stream_config as stream_config
    from minamo.shell.measuring.otel import OpenTelemetry as OpenTelemetry
    from minamo.shell.measuring.telemetry import Telemetry as Telemetry
    from minamo.shell.options import Persona as Persona
    from minamo.shell.orchestrator import StreamOrchestrator as StreamOrchestrator
    from minamo.shell.providing.adapters import Anthropic as Anthropic
    from minamo.shell.providing.adapters import Gemini as Gemini
    from minamo.shell.providing.adapters import OpenAICompatible as OpenAICompatible
    from minamo.shell.providing.http import Deadlines as Deadlines
    from minamo.shell.providing.prepared import PreparedConversation as PreparedConversation
    from minamo.shell.providing.retry import fallback as fallback
    from minamo.shell.providing.retry import retry as retry
    from minamo.shell.providing.scripted import Scripted as Scripted
    from minamo.shell.providing.scripted import as_chunks as as_chunks
    from minamo.shell.sending.overflow import Overflow as Overflow
    from minamo.shell.sending.receipts import Receipt as Receipt
    from minamo.shell.sending.sender import Button as Button
    from minamo.shell.sending.sender import Embed as Embed
    from minamo.shell.sending.sender import Ping as Ping
    from minamo.shell.sending.sender import Sender as Sender
    from minamo.shell.sending.source import Manner as Manner
    from minamo.shell.stopping.lease import Leased as Leased
    from minamo.shell.stopping.lease_redis import RedisLease as RedisLease
    from minamo.shell.stopping.requests import Reach as Reach
    from minamo.shell.stopping.stops import MemoryStops as MemoryStops
    from minamo.shell.stopping.stops import Stops as Stops
    from minamo.shell.stopping.stops_redis import RedisStops as RedisStops
    from minamo.shell.stopping.wishes import Wish as Wish
    from minamo.shell.stopping.wishes import Wishes as Wishes
    from minamo.shell.telling.notices import NoticeSettings as NoticeSettings
    from minamo.shell.telling.thoughts import Thoughts as Thoughts
    from minamo.shell.telling.wording import Languages as Languages
    from minamo.shell.telling.wording import Wording as Wording
    from minamo.shell.turns.tool_context import ToolContext as ToolContext
    from minamo.shell.turns.tool_context import ToolError as ToolError
    from minamo.shell.turns.tools import Tools as Tools
    from minamo.shell.turns.tools import as_tool as as_tool
    from minamo.shell.turns.turn_result import TurnResult as TurnResult
    from minamo.shell.turns.turn_settings import TurnSettings as TurnSettings
    from minamo.wire.conversation import Message as Message
    from minamo.wire.conversation import assistant as assistant
    from minamo.wire.conversation import system as system
    from minamo.wire.conversation import tool as tool
    from minamo.wire.conversation import user as user
    from minamo.wire.images import Image as Image
    from minamo.wire.limits import WireLimits as WireLimits
    from minamo.wire.stream import Frame as Frame
    from minamo.wire.tools import Tool as Tool

__version__ = "0.1.0"

_HOMES = {
    "Anthropic": "minamo.shell.providing.adapters",
    "BadRequest": "minamo.errors",
    "BadSetting": "minamo.errors",
    "BadTrace": "minamo.errors",
    "BotSender": "minamo.shell.discord.bot",
    "Button": "minamo.shell.sending.sender",
    "Call": "minamo.core.chunks",
    "ChartError": "minamo.errors",
    "Client": "minamo.shell.client",
    "ClientClosed": "minamo.errors",
    "Deadlines": "minamo.shell.providing.http",
    "Done": "minamo.core.chunks",
    "Embed": "minamo.shell.sending.sender",
    "Error": "minamo.core.chunks",
    "Frame": "minamo.wire.stream",
    "FunctionCall": "minamo.core.chunks",
    "Gemini": "minamo.shell.providing.adapters",
    "HumanizerDegree": "minamo.core.config",
    "Image": "minamo.wire.images",
    "Languages": "minamo.shell.telling.wording",
    "Leased": "minamo.shell.stopping.lease",
    "Manner": "minamo.shell.sending.source",
    "Memory": "minamo.shell.discord.history",
    "MemoryStops": "minamo.shell.stopping.stops",
    "Message": "minamo.wire.conversation",
    "MinamoError": "minamo.errors",
    "NoticeSettings": "minamo.shell.telling.notices",
    "OpenAICompatible": "minamo.shell.providing.adapters",
    "OpenTelemetry": "minamo.shell.measuring.otel",
    "Overflow": "minamo.shell.sending.overflow",
    "Persona": "minamo.shell.options",
    "Ping": "minamo.shell.sending.sender",
    "PreparedConversation": "minamo.shell.providing.prepared",
    "Reach": "minamo.shell.stopping.requests",
    "Receipt": "minamo.shell.sending.receipts",
    "RedisLease": "minamo.shell.stopping.lease_redis",
    "RedisStops": "minamo.shell.stopping.stops_redis",
    "Scripted": "minamo.shell.providing.scripted",
    "Sender": "minamo.shell.sending.sender",
    "Stops": "minamo.shell.stopping.stops",
    "StreamConfig": "minamo.core.config",
    "StreamContext": "minamo.shell.context",
    "StreamOrchestrator": "minamo.shell.orchestrator",
    "StreamResult": "minamo.core.result",
    "Telemetry": "minamo.shell.measuring.telemetry",
    "Text": "minamo.core.chunks",
    "Thoughts": "minamo.shell.telling.thoughts",
    "Tool": "minamo.wire.tools",
    "ToolContext": "minamo.shell.turns.tool_context",
    "ToolError": "minamo.shell.turns.tool_context",
    "Tools": "minamo.shell.turns.tools",
    "TurnResult": "minamo.shell.turns.turn_result",
    "TurnSettings": "minamo.shell.turns.turn_settings",
    "Usage": "minamo.core.chunks",
    "WireLimits": "minamo.wire.limits",
    "Wish": "minamo.shell.stopping.wishes",
    "Wishes": "minamo.shell.stopping.wishes",
    "Wording": "minamo.shell.telling.wording",
    "as_chunks": "minamo.shell.providing.scripted",
    "as_tool": "minamo.shell.turns.tools",
    "assistant": "minamo.wire.conversation",
    "fallback": "minamo.shell.providing.retry",
    "read_trace": "minamo.core.trace",
    "replay": "minamo.inspect.replay",
    "retry": "minamo.shell.providing.retry",
    "stream_config": "minamo.shell.environment",
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
