"""A real MCP server for tests: run it as a program, over stdio or, with a port, over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("example")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
async def slow(context: Context, note: str = "") -> str:
    """Report progress, then take a minute; leave a note if cancelled."""
    await context.report_progress(1, 3, "one third")
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        Path(note).write_text("cancelled", encoding="utf-8")  # noqa: ASYNC240
        raise
    return "done"


@server.tool(name="files.read")
def read_all() -> str:
    """Return a lot."""
    return "x" * 500_000


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no such file")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
