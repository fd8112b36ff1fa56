"""The interactions endpoint: interactions over HTTP, for a bot without a gateway.

As in Discord, each request is signed, the URL is pinged before it is accepted, and the body of
the response is the first answer to the interaction, unless a callback came before it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import aiohttp
from attrs import define, field

from minamo.twin.server.refusals import Refused
from minamo.twin.world import Interaction

_PING, _PONG = 1, 1
# Discord disconnects when the time for the first answer is over; a callback may have come by then.
_HANG_UP_S = 3.0

Json = dict[str, Any]
Answered = Callable[[Interaction, Json], object]


class EndpointFailure(Exception):
    """An error of the URL: not reachable, not an interactions endpoint, or an invalid answer."""


class Signing:
    """The key of the application, generated on first use; needs PyNaCl."""

    def __init__(self) -> None:
        self._key: Any = None

    @property
    def verify_key(self) -> str:
        """The public key, as in the application's JSON; zeros without PyNaCl."""
        try:
            return bytes(self._made().verify_key).hex()
        except ImportError:
            return "0" * 64

    def sign(self, data: bytes) -> str:
        """Return the signature of *data*."""
        try:
            return str(self._made().sign(data).signature.hex())
        except ImportError:
            raise EndpointFailure(
                "an endpoint needs PyNaCl, as hikari's own server does: "
                "pip install 'hikari[server]'"
            ) from None

    def _made(self) -> Any:
        if self._key is None:
            self._key = import_module("nacl.signing").SigningKey.generate()
        return self._key


@define(eq=False)
class Endpoint:
    """The receiver of interactions in place of the gateway."""

    url: str
    _signing: Signing = field(repr=False)
    _answered: Answered = field(repr=False)
    """Called with the body of a response, the first answer to an interaction."""
    _session: aiohttp.ClientSession = field(factory=aiohttp.ClientSession, init=False, repr=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False, repr=False)

    async def try_out(self) -> None:
        """Ping the URL, as Discord does before it accepts one."""
        status, answer = await self._post({"type": _PING})
        if status != 200 or answer.get("type") != _PONG:
            raise EndpointFailure(f"{self.url} does not answer a ping (HTTP {status})")

    def deliver(self, interaction: Interaction, shape: Json) -> None:
        """Start sending an interaction to the bot; its answer is applied when it arrives."""
        task = asyncio.get_running_loop().create_task(self._deliver(interaction, shape))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel the pending requests and close the HTTP session."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def _deliver(self, interaction: Interaction, shape: Json) -> None:
        problem = ""
        try:
            async with asyncio.timeout(_HANG_UP_S):
                status, answer = await self._post(shape)
            problem = f"HTTP {status}"
            if status == 200 and not interaction.is_answered:
                self._answered(interaction, answer)
        except TimeoutError:
            problem = "no answer in time"
        except (EndpointFailure, Refused) as error:
            problem = str(error)
        if not interaction.is_answered:
            interaction.failed = problem

    async def _post(self, shape: Json) -> tuple[int, Json]:
        body = json.dumps(shape).encode()
        at = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Signature-Ed25519": self._signing.sign(at.encode() + body),
            "X-Signature-Timestamp": at,
        }
        try:
            async with self._session.post(self.url, data=body, headers=headers) as response:
                if response.content_type == "application/json":
                    return response.status, await response.json()
                if response.content_type.startswith("multipart/"):
                    raise EndpointFailure("the twin takes answers with files by callback only")
                return response.status, {}
        except aiohttp.ClientError as error:
            raise EndpointFailure(
                f"{self.url} cannot be reached ({type(error).__name__})"
            ) from None
