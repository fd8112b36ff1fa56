"""The interactions endpoint: for a bot without a gateway, told of interactions by HTTP.

As Discord does, each request is signed, the address is tried with a ping before it is taken, and
the body of the answer is the first answer to the interaction, unless a callback came before it.
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

from minamo.twin.refusals import Refused
from minamo.twin.world import Interaction

_PING, _PONG = 1, 1
# Discord hangs up when the time for the first answer is over; a callback may have come meanwhile.
_HANG_UP_S = 3.0

Json = dict[str, Any]
Answered = Callable[[Interaction, Json], object]


class EndpointFailure(Exception):
    """What answers at the address is no interactions endpoint, or answers what it must not."""


class Signing:
    """The key of the application, made when it is first asked for; needs PyNaCl."""

    def __init__(self) -> None:
        self._key: Any = None

    @property
    def verify_key(self) -> str:
        """The public half, as the application tells it; zeros if nothing can be signed."""
        try:
            return bytes(self._made().verify_key).hex()
        except ImportError:
            return "0" * 64

    def sign(self, data: bytes) -> str:
        """The signature of *data*."""
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
    """Where interactions are sent to instead of the gateway."""

    url: str
    _signing: Signing = field(repr=False)
    _answered: Answered = field(repr=False)
    """Takes the first answer to an interaction, out of the body of a response."""
    _session: aiohttp.ClientSession = field(factory=aiohttp.ClientSession, init=False, repr=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False, repr=False)

    async def try_out(self) -> None:
        """Ping the address, as Discord does before it takes one."""
        status, answer = await self._post({"type": _PING})
        if status != 200 or answer.get("type") != _PONG:
            raise EndpointFailure(f"{self.url} does not answer a ping (HTTP {status})")

    def deliver(self, one: Interaction, shape: Json) -> None:
        """Tell the bot of an interaction; the answer is taken when it comes."""
        task = asyncio.get_running_loop().create_task(self._deliver(one, shape))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Hang up."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def _deliver(self, one: Interaction, shape: Json) -> None:
        problem = ""
        try:
            async with asyncio.timeout(_HANG_UP_S):
                status, answer = await self._post(shape)
            problem = f"HTTP {status}"
            if status == 200 and not one.is_answered:
                self._answered(one, answer)
        except TimeoutError:
            problem = "no answer in time"
        except (EndpointFailure, Refused) as error:
            problem = str(error)
        if not one.is_answered:
            one.failed = problem

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
