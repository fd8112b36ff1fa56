"""Stream LLM replies into Discord through an explicit state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.core.config import HumanizerDegree as HumanizerDegree
    from minamo.core.config import StreamConfig as StreamConfig
    from minamo.core.result import StreamResult as StreamResult
    from minamo.errors import BadRequest as BadRequest
    from minamo.errors import BadSetting as BadSetting
    from minamo.errors import BadTrace as BadTrace
    from minamo.errors import ChartError as ChartError
    from minamo.errors import MinamoError as MinamoError
    from minamo.shell.adapters import Anthropic as Anthropic
    from minamo.shell.adapters import Gemini as Gemini
    from minamo.shell.adapters import OpenAICompatible as OpenAICompatible
    from minamo.shell.http import Deadlines as Deadlines
    from minamo.shell.retry import fallback as fallback
    from minamo.shell.retry import retry as retry
    from minamo.shell.scripted import Scripted as Scripted
    from minamo.shell.scripted import as_chunks as as_chunks
    from minamo.wire.conversation import Message as Message
    from minamo.wire.conversation import assistant as assistant
    from minamo.wire.conversation import system as system
    from minamo.wire.conversation import tool as tool
    from minamo.wire.conversation import user as user
    from minamo.wire.images import Image as Image
    from minamo.wire.limits import WireLimits as WireLimits
    from minamo.wire.tools import Tool as Tool

__version__ = "0.1.0"

_HOMES = {
    "Anthropic": "minamo.shell.adapters",
    "BadRequest": "minamo.errors",
    "BadSetting": "minamo.errors",
    "BadTrace": "minamo.errors",
    "ChartError": "minamo.errors",
    "Deadlines": "minamo.shell.http",
    "Gemini": "minamo.shell.adapters",
    "HumanizerDegree": "minamo.core.config",
    "Image": "minamo.wire.images",
    "Message": "minamo.wire.conversation",
    "MinamoError": "minamo.errors",
    "OpenAICompatible": "minamo.shell.adapters",
    "Scripted": "minamo.shell.scripted",
    "StreamConfig": "minamo.core.config",
    "StreamResult": "minamo.core.result",
    "Tool": "minamo.wire.tools",
    "WireLimits": "minamo.wire.limits",
    "as_chunks": "minamo.shell.scripted",
    "assistant": "minamo.wire.conversation",
    "fallback": "minamo.shell.retry",
    "retry": "minamo.shell.retry",
    "system": "minamo.wire.conversation",
    "tool": "minamo.wire.conversation",
    "user": "minamo.wire.conversation",
}

__all__ = [
    "Anthropic",
    "BadRequest",
    "BadSetting",
    "BadTrace",
    "ChartError",
    "Deadlines",
    "Gemini",
    "HumanizerDegree",
    "Image",
    "Message",
    "MinamoError",
    "OpenAICompatible",
    "Scripted",
    "StreamConfig",
    "StreamResult",
    "Tool",
    "WireLimits",
    "__version__",
    "as_chunks",
    "assistant",
    "fallback",
    "retry",
    "system",
    "tool",
    "user",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
