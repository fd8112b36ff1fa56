"""Tools of an MCP server, over stdio or streamable HTTP, by the official SDK (`minamo[mcp]`).

The session lives in a task of its own, so the server may be entered in one task and left in
another.  Everything a server says is foreign: names are made acceptable to providers, schemas are
checked, results go through the same limits as those of other tools.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import msgspec

from minamo.core.redact import shorten
from minamo.errors import BadRequest, BadSetting, MinamoError
from minamo.shell.turns.tool_job import ToolContext, ToolError
from minamo.shell.turns.tool_schema import DESCRIPTION_CHARS_MAX, Described
from minamo.shell.turns.tools import FunctionTool, Tools
from minamo.shell.validation import checked_headers, checked_url
from minamo.wire.options import Tool

if TYPE_CHECKING:
    from mcp import ClientSession

_LOG = logging.getLogger("minamo.tools")

# A server that is installed first, as by npx or uvx, takes its time.
CONNECT_S = 60.0
# A server that does not exit is left to the operating system.
_CLOSE_S = 5.0
# The SDK's own limits; a server may hold a response open while a tool runs.
_HTTP_S, _HTTP_READ_S = 30.0, 300.0
# Pages of a server's list; each has as many tools as the server likes.
_PAGES_MAX = 20
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


class McpServer:
    """One MCP server: ``async with McpServer(["uvx", "mcp-server-time"]) as server``.

    Use its `tools` in turns while the block lasts.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        prefix: str = "",
        only: Sequence[str] = (),
        timeout_ms: int | None = None,
        allow_http: bool = False,
    ) -> None:
        if isinstance(server, str):
            server = checked_url(server, allow_http=allow_http)
        elif not server or not all(server):
            raise BadRequest("an MCP server is a command, such as ['uvx', 'name'], or an address")
        self._server = server
        self._headers = checked_headers(headers or {})
        self._env = dict(env or {})
        self._prefix = prefix
        self._only = tuple(only)
        self._timeout_ms = timeout_ms
        self._session: ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self.tools: Tools = Tools()
        """The server's tools; empty until the block is entered."""

    def __repr__(self) -> str:
        return f"<McpServer: {len(self.tools)} tools>"  # a command or an address may hold a key

    async def __aenter__(self) -> Self:
        """Start or connect to the server and list its tools.

        Raises:
            MinamoError: the server cannot be used; the message says why.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready), name="minamo-mcp")
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise MinamoError(f"an MCP server did not answer within {CONNECT_S:g} s") from None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the session and the server's process."""
        self._session = None
        self._leave.set()
        if self._task is None:
            return
        _, pending = await asyncio.wait({self._task}, timeout=_CLOSE_S)
        for task in pending:
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                self._session = await self._connect(stack)
                self.tools = Tools(await self._list(self._session))
                ready.set_result(None)
                await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - a server may fail in any way
            # Only the type: messages can hold secrets of the server.
            inner = _innermost(error)
            kind = type(inner).__name__
            if not ready.done():
                problem = inner if isinstance(inner, MinamoError) else None
                ready.set_exception(
                    problem or MinamoError(f"an MCP server cannot be used ({kind})")
                )
            else:
                _LOG.warning("an MCP server was lost (%s); its tools fail from now on", kind)
        finally:
            self._session = None

    async def _connect(self, stack: AsyncExitStack) -> ClientSession:
        try:
            # In a thread, because that takes most of a second for the first time.
            await asyncio.to_thread(import_module, "mcp.client.streamable_http")
            import httpx2
            from mcp import ClientSession, StdioServerParameters
            from mcp.client.stdio import stdio_client
            from mcp.client.streamable_http import streamable_http_client
        except ImportError:
            raise BadSetting("MCP needs a package: pip install 'hikari-minamo[mcp]'") from None

        if isinstance(self._server, str):
            limits = httpx2.Timeout(_HTTP_S, read=_HTTP_READ_S)
            # In a thread, too: it reads the certificates of the system.
            client = await asyncio.to_thread(
                httpx2.AsyncClient, headers=self._headers, timeout=limits
            )
            http = await stack.enter_async_context(client)
            streams = await stack.enter_async_context(
                streamable_http_client(self._server, http_client=http)
            )
        else:
            command, *arguments = self._server
            parameters = StdioServerParameters(
                command=command, args=arguments, env=self._env or None
            )
            streams = await stack.enter_async_context(stdio_client(parameters))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        return session

    async def _list(self, session: ClientSession) -> list[FunctionTool]:
        from mcp.types import PaginatedRequestParams

        found: list[Any] = []
        cursor = None
        for _ in range(_PAGES_MAX):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        names = [tool.name for tool in found]
        for name in self._only:
            if name not in names:
                raise BadRequest(f"the MCP server has no tool {name!r}; it has {', '.join(names)}")
        wanted = [tool for tool in found if not self._only or tool.name in self._only]
        return [made for tool in wanted if (made := self._made(tool)) is not None]

    def _made(self, tool: Any) -> FunctionTool | None:
        name = _FOREIGN.sub("_", f"{self._prefix}{tool.name}")[:64]
        about = shorten(tool.description or "", DESCRIPTION_CHARS_MAX)
        try:
            spec = Tool(name, about, tool.input_schema)
        except BadRequest as error:
            _LOG.warning("a tool of an MCP server is left out: %s", error)
            return None

        async def call(arguments: Mapping[str, Any], context: ToolContext) -> str:
            return await self._call(str(tool.name), arguments, context)

        return FunctionTool(call, Described(spec, None, ("context",)), self._timeout_ms)

    async def _call(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> str:
        session = self._session
        if session is None:
            raise ToolError("the server of this tool cannot be reached")

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            context.progress(message or share)

        result = await session.call_tool(name, dict(arguments), progress_callback=tell)
        text = _text(result)
        if getattr(result, "is_error", False):
            raise ToolError(text or "it failed")
        return text


def _text(result: Any) -> str:
    """Return a result as the model gets it: its texts, and a note for anything else."""
    parts = []
    for part in getattr(result, "content", None) or ():
        if part.type == "text":
            parts.append(part.text)
        elif part.type == "resource_link":
            parts.append(f"[{part.name}: {part.uri}]")
        elif part.type == "resource" and hasattr(part.resource, "text"):
            parts.append(part.resource.text)
        else:
            parts.append(f"[{part.type}, left out]")
    structured = getattr(result, "structured_content", None)
    if not parts and structured is not None:
        return msgspec.json.encode(structured).decode()
    return "\n".join(parts)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
