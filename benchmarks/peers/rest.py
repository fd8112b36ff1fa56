"""A channel of the local Discord for peers whose own client needs a gateway; standard library only.

It obeys a 429 as discord.py does: it waits as long as it is told to and calls again.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
import urllib.parse
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self


class Channel:
    """Create, edit and delete messages in one channel."""

    def __init__(self, place: dict[str, Any]) -> None:
        self._base = urllib.parse.urlsplit(place["url"])
        self._path = f"{self._base.path}/channels/{place['channel']}/messages"
        self._headers = {
            "Authorization": f"Bot {place['token']}",
            "Content-Type": "application/json",
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def create(self, content: str) -> str:
        """Create a message; return its id."""
        return str((await self._call("POST", self._path, content))["id"])

    async def edit(self, message_id: str, content: str) -> None:
        """Replace a message's text."""
        await self._call("PATCH", f"{self._path}/{message_id}", content)

    async def delete(self, message_id: str) -> None:
        """Delete a message."""
        await self._call("DELETE", f"{self._path}/{message_id}", None)

    async def _call(self, method: str, path: str, content: str | None) -> Any:
        body = None if content is None else json.dumps({"content": content})
        while True:
            status, answer = await asyncio.to_thread(self._request, method, path, body)
            if status != 429:
                break
            await asyncio.sleep(answer["retry_after"])
        if status >= 400:
            raise RuntimeError(f"{status}: {answer}")
        return answer

    def _request(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(str(self._base.netloc), timeout=30)
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            data = response.read()
            return response.status, json.loads(data) if data else {}
        finally:
            connection.close()


async def tokens(text: str, rate: float, begin: float) -> AsyncIterator[str]:
    """Yield four characters at a time, *rate* times per second from the time *begin*."""
    for number, at in enumerate(range(0, len(text), 4)):
        wait = begin + number / rate - time.time()
        if wait > 0:
            await asyncio.sleep(wait)
        yield text[at : at + 4]
