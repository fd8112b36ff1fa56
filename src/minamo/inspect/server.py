"""The HTTP server of the live page: its routes, on this machine by default, with a random key."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any

from aiohttp import web
from attrs import field, frozen

from minamo.errors import BadSetting, BadTrace, MinamoError
from minamo.inspect.access import HEADERS, ICON, AccessControl, is_unicode, json_error
from minamo.inspect.explain import AuditSnapshot
from minamo.inspect.hub import Hub, Page
from minamo.inspect.recorder import Recorder
from minamo.inspect.views import (
    Actions,
    PageFile,
    Prompt,
    audit_record,
    chart_list,
    chart_style,
    chart_svg,
    draw_charts,
    look_at_lines,
    page_files,
    words,
)

# A trace of a long reply is some hundred kilobytes.
BODY_MAX = 8 * 1024 * 1024
# Longest message a user may send: Discord takes 2 000 characters, with a mention in front.
TEXT_MAX = 1_900
# Interval of keep-alives without events, so that both sides notice a dead connection.
PULSE_S = 15.0
# Most events sent to a page in one write; the rest follows immediately.
_AT_ONCE = 500

Recorded = Callable[[web.Request, Recorder], Awaitable[web.Response]]


class Site:
    """The request handlers of one page."""

    def __init__(self, hub: Hub, doors: AccessControl, actions: Actions | None) -> None:
        self.hub = hub
        self.doors = doors
        self.actions = actions
        self.closing: asyncio.Event = asyncio.Event()
        self.files: dict[str, PageFile] = page_files()

    def application(self) -> web.Application:
        """Return the application: all routes, behind the access checks."""
        app = web.Application(client_max_size=BODY_MAX, middlewares=[self.doors.middleware()])
        app.add_routes(
            [
                web.get("/", self.index),
                web.get(ICON, self.icon),
                web.get("/page/charts.css", self.chart_style),
                web.get("/page/{name}", self.file),
                web.get("/api/live", self.live),
                web.get("/api/about", self.about),
                web.get("/api/charts/{name}", self.chart),
                web.get("/api/streams/{number}/trace", self.recorded(_trace)),
                web.get("/api/streams/{number}/look", self.recorded(_look)),
                web.get("/api/streams/{number}/why", self.recorded(_why)),
                web.post("/api/look", self.look_at_body),
                web.post("/api/say", self.say),
                web.post("/api/stop", self.stop),
                web.post("/api/press", self.press),
            ]
        )
        return app

    # Read-only routes.

    async def index(self, _: web.Request) -> web.Response:
        """Serve the page itself."""
        return _file(self.files["index.html"])

    async def icon(self, _: web.Request) -> web.Response:
        """Serve the icon, which browsers request on their own."""
        return _file(self.files["mark.svg"])

    async def file(self, request: web.Request) -> web.Response:
        """Serve a script, a style or a picture."""
        found = self.files.get(request.match_info["name"])
        return json_error(404, "there is no such file") if found is None else _file(found)

    async def chart_style(self, _: web.Request) -> web.Response:
        """Serve the colours of the charts."""
        return web.Response(text=chart_style(), content_type="text/css")

    async def chart(self, request: web.Request) -> web.Response:
        """Serve the picture of a chart."""
        # Drawing takes up to a second, once; replies must not wait for it.
        name = request.match_info["name"].removesuffix(".svg")
        svg = await asyncio.to_thread(chart_svg, name, request.query.get("size", "full"))
        if svg is None:
            return json_error(404, "there is no such chart")
        return web.Response(text=svg, content_type="image/svg+xml")

    async def about(self, _: web.Request) -> web.Response:
        """Serve the data that stays the same while the page is open."""
        can = self.actions
        prompts = [] if can is None else [{"title": p.title, "text": p.text} for p in can.prompts]
        return web.json_response(
            {
                # In another thread, as in `chart`: reading them takes a tenth of a second, once.
                "charts": await asyncio.to_thread(chart_list),
                "reasons": words(),
                "may_act": can is not None,
                "prompts": prompts,
            }
        )

    async def live(self, request: web.Request) -> web.StreamResponse:
        """Serve server-sent events; each holds a list of all pending events."""
        woken = asyncio.Event()
        page = self.hub.join(woken.set)
        if page is None:
            return json_error(503, "too many pages look at once; close some")
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        try:
            await response.prepare(request)
            await self._feed(page, woken, response)
        except ConnectionError:
            pass  # the page was closed
        finally:
            self.hub.leave(page)
        return response

    async def _feed(self, page: Page, woken: asyncio.Event, response: web.StreamResponse) -> None:
        while not self.closing.is_set():
            woken.clear()
            events = page.take()
            for at in range(0, len(events), _AT_ONCE):
                data = json.dumps(events[at : at + _AT_ONCE], separators=(",", ":"))
                await response.write(f"data: {data}\n\n".encode())
            if not events and not await self._something(woken):
                await response.write(b": still here\n\n")

    async def _something(self, woken: asyncio.Event) -> bool:
        """Wait for an event or the close; return False if neither came within `PULSE_S`."""
        waits = [asyncio.ensure_future(event.wait()) for event in (woken, self.closing)]
        try:
            first = asyncio.FIRST_COMPLETED
            done, _ = await asyncio.wait(waits, timeout=PULSE_S, return_when=first)
        finally:
            for wait in waits:
                wait.cancel()
        return bool(done)

    def recorded(self, action: Recorded) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Return a handler that calls *action* with the stream named in the address."""

        async def handler(request: web.Request) -> web.Response:
            recorder = self.hub.find(request.match_info["number"])
            if recorder is None:
                return json_error(404, "that stream is forgotten")
            return await action(request, recorder)

        return handler

    async def look_at_body(self, request: web.Request) -> web.Response:
        """Replay the trace in the request body and return its analysis."""
        try:
            return await _looked((await request.read()).decode("utf-8-sig"))
        except UnicodeDecodeError:
            return json_error(400, "that file is not UTF-8 text, so it is no trace")

    # Actions.

    async def say(self, request: web.Request) -> web.Response:
        """Send a message to the channel."""
        text = (await _body(request)).get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > TEXT_MAX:
            return json_error(400, f"write 1 to {TEXT_MAX} characters")
        if not is_unicode(text):
            return json_error(400, "half a pair of surrogates is no text")
        return await self._act(lambda can: can.say(text))

    async def stop(self, _: web.Request) -> web.Response:
        """Stop the reply."""
        return await self._act(lambda can: can.stop())

    async def press(self, request: web.Request) -> web.Response:
        """Press a button."""
        body = await _body(request)
        message, button = str(body.get("message")), str(body.get("button"))
        if not is_unicode(message + button):
            return json_error(400, "there is no such button")
        return await self._act(lambda can: can.press(message, button))

    async def _act(self, action: Callable[[Actions], Awaitable[None]]) -> web.Response:
        if self.actions is None:
            return json_error(403, "this page is read-only")
        try:
            await action(self.actions)
        except MinamoError as error:
            return json_error(400, str(error))
        return web.json_response({"done": True})


async def _trace(_: web.Request, recorder: Recorder) -> web.Response:
    """Return the trace of the stream as a file to download."""
    name = f"minamo-{recorder.id}.jsonl"
    return web.Response(
        text=recorder.trace(),
        content_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _look(_: web.Request, recorder: Recorder) -> web.Response:
    """Replay the trace recorded so far and return its analysis."""
    return await _looked(recorder.trace(), unfinished=not recorder.stream.ended)


async def _why(_: web.Request, recorder: Recorder) -> web.Response:
    """Return where the characters of a stream really went, also while it runs."""
    audit = AuditSnapshot.of(recorder.tracks)
    # In another thread, as in `_looked`: the bot continues meanwhile.
    text = await asyncio.to_thread(lambda: json.dumps(audit_record(audit)))
    return web.Response(text=text, content_type="application/json")


async def _looked(trace: str, *, unfinished: bool = False) -> web.Response:
    def work() -> str:
        return json.dumps(look_at_lines(trace.split("\n"), unfinished=unfinished))

    try:
        text = await asyncio.to_thread(work)
    except BadTrace as error:
        return json_error(400, str(error))
    return web.Response(text=text, content_type="application/json")


async def _body(request: web.Request) -> Mapping[str, Any]:
    # Not `request.json`: it trusts any encoding that the request names.
    with suppress(ValueError, RecursionError):
        body = json.loads(await request.read())
        if isinstance(body, dict):
            return body
    return {}


def _file(found: PageFile) -> web.Response:
    return web.Response(body=found.body, content_type=found.type, charset="utf-8")


__all__ = ["Actions", "Prompt", "Served", "serve"]


@frozen(slots=True)
class Served:
    """A running page."""

    host: str
    port: int
    key: str = field(repr=False)

    @property
    def address(self) -> str:
        """Address of the page with its key; for the terminal, not for a log."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?key={self.key}"


@asynccontextmanager
async def serve(
    hub: Hub,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    key: str | None = None,
    actions: Actions | None = None,
    names: Collection[str] = (),
) -> AsyncIterator[Served]:
    """Serve the page of *hub* until the block is left.

    Args:
        hub: The hub to show.
        host: The default accepts connections from this machine only.
        port: 0 picks a free one.
        key: Secret that the address must contain, 16 characters or more; random by default.
        actions: The actions the page may take; without it, the page is read-only.
        names: Further host names under which the page is served, as behind a proxy.

    Raises:
        BadSetting: the port cannot be used, or the key is too short.
    """
    key = secrets.token_urlsafe(24) if key is None else key
    doors = AccessControl(key, frozenset(names))
    site = Site(hub, doors, actions)
    runner = web.AppRunner(site.application(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as error:
            cause = error.strerror if isinstance(error, OSError) else ""
            why = cause or str(error)
            raise BadSetting(
                f"the page cannot be served on port {port} of {host}: {why}; "
                "choose another port, or 0 for any that is free"
            ) from None
        doors.port = int(runner.addresses[0][1])
        # A daemon: the end of the program does not wait for pictures.
        Thread(target=draw_charts, name="minamo charts", daemon=True).start()
        yield Served(host, doors.port, key)
    finally:
        site.closing.set()
        await runner.cleanup()
