"""A twin, a clock that stands still, and plain HTTP requests to the twin."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from attrs import define, field, frozen

from minamo.twin import Interaction, Rules, Twin


@define
class Clock:
    """Time that moves only when a test moves it."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@frozen
class Answer:
    """The status and the JSON of an answer, with its headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(repr=False)

    @property
    def code(self) -> int | None:
        """Discord's own code of a refusal."""
        return self.body.get("code") if isinstance(self.body, dict) else None

    @property
    def refusal(self) -> tuple[int, int | None]:
        """Status and code."""
        return self.status, self.code


@define(eq=False)
class Lab:
    """One twin and a client without any manners of its own."""

    twin: Twin
    clock: Clock
    session: aiohttp.ClientSession

    @property
    def home(self) -> str:
        """The path of the messages of the first channel."""
        return f"/channels/{self.twin.channel().id}/messages"

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        auth: bool = True,
        files: Sequence[tuple[str, bytes]] | None = None,
        data: Any = None,
        content_type: str | None = None,
    ) -> Answer:
        """Make a request; with *files* multipart, with *data* as given, otherwise JSON."""
        headers = {"Authorization": f"Bot {self.twin.token}"} if auth else {}
        if content_type is not None:
            headers["Content-Type"] = content_type
        if files is not None:
            data = aiohttp.FormData()
            data.add_field("payload_json", json.dumps(body or {}), content_type="application/json")
            for number, (name, content) in enumerate(files):
                data.add_field(f"files[{number}]", io.BytesIO(content), filename=name)
        sent: dict[str, Any] = {"json": body} if data is None and body is not None else {}
        if data is not None:
            sent = {"data": data}
        url = self.twin.url + path
        async with self.session.request(method, url, headers=headers, **sent) as response:
            raw = await response.read()
            return Answer(response.status, json.loads(raw) if raw else None, response.headers)

    async def send(self, body: Any, **more: Any) -> Answer:
        """Create a message in the first channel."""
        return await self.ask("POST", self.home, body, **more)

    async def sent(self, body: Any, **more: Any) -> Any:
        """Create a message that Discord takes; its JSON."""
        answer = await self.send(body, **more)
        assert answer.status == 200, answer
        return answer.body

    async def webhook(self) -> str:
        """Make a webhook; the path of its token."""
        channel = self.twin.channel().id
        made = (await self.ask("POST", f"/channels/{channel}/webhooks", {"name": "h"})).body
        return f"/webhooks/{made['id']}/{made['token']}"

    async def answer(self, one: Interaction, kind: int, data: Any = None) -> Answer:
        """Give the first answer to an interaction."""
        path = f"/interactions/{one.id}/{one.token}/callback?with_response=true"
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        return await self.ask("POST", path, body, auth=False)

    def follow_ups(self, one: Interaction) -> str:
        """The path of what more is said to an interaction."""
        return f"/webhooks/{self.twin.bot.id}/{one.token}"


Story = Callable[[Lab], Awaitable[Any]]


@define
class Stories:
    """What is observed after some requests: a story for each behaviour, with what it must tell."""

    told: dict[str, tuple[Story, Any]] = field(factory=dict)

    def __call__(self, behaviour: str, expected: Any) -> Callable[[Story], Story]:
        def add(story: Story) -> Story:
            assert behaviour not in self.told
            self.told[behaviour] = (story, expected)
            return story

        return add


@asynccontextmanager
async def twin_lab(**rules: Any) -> AsyncIterator[Lab]:
    """A lab without rate limits.  Routes that the twin does not know are no failure here."""
    clock = Clock()
    async with (
        Twin(rules=Rules(rate_limits=False, **rules), clock=clock) as twin,
        aiohttp.ClientSession() as session,
    ):
        try:
            yield Lab(twin, clock, session)
        finally:
            twin.unknown.clear()
