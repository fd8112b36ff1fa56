"""The provider of a soak, a process of its own: replies as server-sent events, over HTTP, with faults.

It speaks the dialect of OpenAI's chat completions, says its port in its first line, and tells at
the end of its input how many requests are still open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter

from aiohttp import web

from soak.pipes import lines_of_stdin, tell
from soak.plans import Plan, make_plan

PAUSE_S = 1.5
STALL_S = 60.0
#: A request whose client is gone is noticed this late at most.
LOOK_EVERY_S = 0.25


class Provider:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.open = 0
        self.asked: Counter[int] = Counter()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        plan = make_plan(self.seed, int(body["messages"][-1]["content"].split()[-1]))
        self.asked[plan.number] += 1
        first = self.asked[plan.number] == 1
        if plan.fault == "busy" and first:
            return _refusal(429, {"Retry-After": "1"})
        if plan.fault == "down" or (plan.fault == "broken" and first):
            return _refusal(500, {})
        self.open += 1
        try:
            return await self._stream(request, plan)
        finally:
            self.open -= 1

    async def _stream(self, request: web.Request, plan: Plan) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            for number, chunk in enumerate(plan.chunks if plan.fault != "empty" else ()):
                if number == plan.fault_at and await _suffer(request, response, plan.fault):
                    return response
                await asyncio.sleep(plan.chunk_s)
                await response.write(_event({"content": chunk}))
            await response.write(_event({}, "stop") + b"data: [DONE]\n\n")
        return response


async def _suffer(request: web.Request, response: web.StreamResponse, fault: str) -> bool:
    """Let the fault happen; return whether it ends the reply."""
    assert request.transport is not None
    if fault == "reset":
        request.transport.abort()
        return True
    if fault == "pause":
        await response.write(b": keep-alive\n\n")
        await asyncio.sleep(PAUSE_S)
    elif fault == "stall":
        for _ in range(round(STALL_S / LOOK_EVERY_S)):
            if request.transport is None or request.transport.is_closing():
                return True
            await asyncio.sleep(LOOK_EVERY_S)
        return True
    return False


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "soak", "object": "chat.completion.chunk", "model": "soak", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


def _refusal(status: int, headers: dict[str, str]) -> web.Response:
    body = {"error": {"message": f"refused with {status}", "type": "soak"}}
    return web.json_response(body, status=status, headers=headers)


async def main(seed: int) -> None:
    provider = Provider(seed)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    tell(ready=True, port=runner.addresses[0][1])
    async for _ in lines_of_stdin():
        pass
    await asyncio.sleep(2 * LOOK_EVERY_S)
    tell(ended=True, open=provider.open, cpu_s=time.process_time())
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
