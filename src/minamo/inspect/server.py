"""Serve the page: static files, a live stream of events, and whatever one may ask about.

Three locks, because what is shown are people's words.  The address holds a random key, which is
exchanged for a cookie that scripts and other sites cannot use.  The name the browser asked for
must be an address or `localhost`, so that no foreign name can be bound to this machine.  And
what changes something must come from the page itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

from aiohttp import web
from attrs import field, frozen

from minamo.errors import BadSetting, BadTrace
from minamo.inspect.hub import Hub
from minamo.inspect.looking import look_at_lines, of_books, words
from minamo.inspect.pictures import chart_list, chart_style, chart_svg
from minamo.inspect.static import PageFile, page_files
from minamo.inspect.why import Books

# A trace of a long reply has some hundred kilobytes.
BODY_MAX = 8 * 1024 * 1024
# What a person may write; Discord takes 2 000 characters, or 4 000 from those who pay.
TEXT_MAX = 4_000
# So often a page hears from us when nothing happens, so that both notice a dead connection.
PULSE_S = 15.0
# At most so many pieces go to a page at a time; the rest goes right after.
_AT_ONCE = 500

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SHUT = "Open the address with its key, as it was printed in the terminal."

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@frozen(slots=True)
class Prompt:
    """Something to say with one press of a button."""

    title: str
    text: str


class Actions(Protocol):
    """What the page may do; without one it only looks."""

    @property
    def prompts(self) -> Sequence[Prompt]:
        """What to offer."""

    async def say(self, text: str) -> None:
        """Somebody writes into the channel."""

    async def stop(self) -> None:
        """Somebody wants the reply to end here."""

    async def press(self, message_id: str, button_id: str) -> None:
        """Somebody presses a button of a message."""


@frozen(slots=True)
class Served:
    """A page that is being served."""

    host: str
    port: int
    key: str = field(repr=False)

    @property
    def address(self) -> str:
        """Where the page is, with its key; for the terminal, not for a log."""
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
    """Serve the page of *hub* for as long as the block lasts.

    Args:
        hub: What there is to see.
        host: Only this machine can look, unless another address is given.
        port: 0 takes a free one.
        key: What the address must hold; random unless given.
        actions: What the page may do; without it, the page only looks.
        names: Further host names under which it is reached, as behind a proxy.

    Raises:
        BadSetting: the port cannot be used.
    """
    key = secrets.token_urlsafe(24) if key is None else key
    site_of = _Site(hub, key, actions, frozenset(names))
    runner = web.AppRunner(site_of.application(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise BadSetting(
                f"the page cannot be served on port {port} of {host}: {error.strerror}; "
                "choose another port, or 0 for any that is free"
            ) from None
        served = Served(host, int(runner.addresses[0][1]), key)
        site_of.port = served.port
        yield served
    finally:
        site_of.closing.set()
        await runner.cleanup()


class _Site:
    def __init__(
        self, hub: Hub, key: str, actions: Actions | None, names: frozenset[str]
    ) -> None:
        self.hub = hub
        self.key = key
        self.actions = actions
        self.names = names
        self.port = 0
        self.closing = asyncio.Event()
        self.files = page_files()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=BODY_MAX, middlewares=[self.guard()])
        app.add_routes(
            [
                web.get("/", self.index),
                web.get("/page/charts.css", self.chart_style),
                web.get("/page/{name}", self.file),
                web.get("/api/live", self.live),
                web.get("/api/about", self.about),
                web.get("/api/charts/{name}", self.chart),
                web.get("/api/streams/{number}/trace", self.trace),
                web.get("/api/streams/{number}/look", self.look),
                web.get("/api/streams/{number}/why", self.why),
                web.post("/api/look", self.look_at_body),
                web.post("/api/say", self.say),
                web.post("/api/stop", self.stop),
                web.post("/api/press", self.press),
            ]
        )
        return app

    # Who may come in.

    def guard(self) -> Any:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            refusal = self.refusal(request)
            if refusal is None:
                try:
                    response = await handler(request)
                except web.HTTPException as error:
                    response = _told(error.status, error.reason)
            else:
                response = refusal
            if not response.prepared:
                response.headers.update(_HEADERS)
            return response

        return guard

    def refusal(self, request: web.Request) -> web.Response | None:
        name = _host_name(request.headers.get("Host", ""))
        if name is None or not (_is_address(name) or name == "localhost" or name in self.names):
            return _told(403, "this page is not served under that name")
        if request.method == "POST" and not self.same_origin(request):
            return _told(403, "only the page itself may ask for that")
        if request.path == "/" and "key" in request.query:
            return self.exchange(request.query["key"])
        given = request.cookies.get(self.cookie, "")
        if not secrets.compare_digest(given.encode(), self.key.encode()):
            return _told(403, _SHUT)
        return None

    def same_origin(self, request: web.Request) -> bool:
        origin = urlsplit(request.headers.get("Origin", ""))
        return origin.netloc != "" and origin.netloc == request.headers.get("Host", "")

    @property
    def cookie(self) -> str:
        return f"minamo_{self.port}"  # cookies do not know ports, so the name does

    def exchange(self, given: str) -> web.Response:
        if not secrets.compare_digest(given.encode(), self.key.encode()):
            return _told(403, _SHUT)
        # Not a redirect: one that began on another site would arrive without the strict cookie.
        # A page that goes on by itself is its own origin, and leaves no key in the history.
        page = (
            '<!doctype html><meta charset="utf-8"><title>minamo</title>'
            '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">minamo</a></p>'
        )
        response = web.Response(text=page, content_type="text/html")
        response.set_cookie(self.cookie, self.key, httponly=True, samesite="Strict", path="/")
        return response

    # What can be read.

    async def index(self, _: web.Request) -> web.Response:
        return _file(self.files["index.html"])

    async def file(self, request: web.Request) -> web.Response:
        found = self.files.get(request.match_info["name"])
        return _told(404, "there is no such file") if found is None else _file(found)

    async def chart_style(self, _: web.Request) -> web.Response:
        return web.Response(text=chart_style(), content_type="text/css")

    async def chart(self, request: web.Request) -> web.Response:
        svg = chart_svg(request.match_info["name"].removesuffix(".svg"))
        if svg is None:
            return _told(404, "there is no such chart")
        return web.Response(text=svg, content_type="image/svg+xml")

    async def about(self, _: web.Request) -> web.Response:
        can = self.actions
        prompts = [] if can is None else [{"title": p.title, "text": p.text} for p in can.prompts]
        return web.json_response(
            {
                "charts": chart_list(),
                "reasons": words(),
                "may_act": can is not None,
                "prompts": prompts,
                "text_max": TEXT_MAX,
            }
        )

    async def live(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: lists of happenings, as many at a time as there are."""
        woken = asyncio.Event()
        page = self.hub.join(woken.set)
        if page is None:
            return _told(503, "too many pages look at once; close some")
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        try:
            await response.prepare(request)
            while not self.closing.is_set():
                events = page.take()
                for at in range(0, len(events), _AT_ONCE):
                    data = json.dumps(events[at : at + _AT_ONCE], separators=(",", ":"))
                    await response.write(f"data: {data}\n\n".encode())
                woken.clear()
                if events:
                    continue  # something may have come while that was on its way
                if not await self.something(woken):
                    await response.write(b": still here\n\n")
        except (ConnectionError, asyncio.CancelledError):
            pass  # the page was closed, or the server is
        finally:
            self.hub.leave(page)
        return response

    async def something(self, woken: asyncio.Event) -> bool:
        """Wait for an event or the end; False if neither came for a while."""
        waits = [asyncio.ensure_future(one.wait()) for one in (woken, self.closing)]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=PULSE_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for one in waits:
                one.cancel()
        return bool(done)

    async def trace(self, request: web.Request) -> web.Response:
        recorder = self.hub.find(request.match_info["number"])
        if recorder is None:
            return _told(404, "that stream is forgotten")
        name = f"minamo-{recorder.id}.jsonl"
        return web.Response(
            text=recorder.trace(),
            content_type="application/jsonl",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def look(self, request: web.Request) -> web.Response:
        """Replay what was recorded so far, in another thread: the bot goes on meanwhile."""
        recorder = self.hub.find(request.match_info["number"])
        if recorder is None:
            return _told(404, "that stream is forgotten")
        return await _looked(recorder.trace())

    async def why(self, request: web.Request) -> web.Response:
        """Where the characters of a stream really went, also while it runs."""
        recorder = self.hub.find(request.match_info["number"])
        if recorder is None:
            return _told(404, "that stream is forgotten")
        books = Books.of(recorder.tracks)
        text = await asyncio.to_thread(lambda: json.dumps(of_books(books)))
        return web.Response(text=text, content_type="application/json")

    async def look_at_body(self, request: web.Request) -> web.Response:
        try:
            return await _looked((await request.read()).decode("utf-8-sig"))
        except UnicodeDecodeError:
            return _told(400, "that file is not UTF-8 text, so it is no trace")

    # What can be done.

    async def say(self, request: web.Request) -> web.Response:
        text = (await _body(request)).get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > TEXT_MAX:
            return _told(400, f"write 1 to {TEXT_MAX} characters")
        return await self.act(lambda can: can.say(text))

    async def stop(self, _: web.Request) -> web.Response:
        return await self.act(lambda can: can.stop())

    async def press(self, request: web.Request) -> web.Response:
        body = await _body(request)
        message, button = str(body.get("message")), str(body.get("button"))
        return await self.act(lambda can: can.press(message, button))

    async def act(self, what: Callable[[Actions], Awaitable[None]]) -> web.Response:
        if self.actions is None:
            return _told(403, "this page only looks")
        await what(self.actions)
        return web.json_response({"done": True})


async def _looked(trace: str) -> web.Response:
    def work() -> str:
        return json.dumps(look_at_lines(trace.split("\n")))

    try:
        text = await asyncio.to_thread(work)
    except BadTrace as error:
        return _told(400, str(error))
    return web.Response(text=text, content_type="application/json")


async def _body(request: web.Request) -> Mapping[str, Any]:
    with suppress(ValueError):
        body = await request.json()
        if isinstance(body, dict):
            return body
    return {}


def _file(found: PageFile) -> web.Response:
    return web.Response(body=found.body, content_type=found.type, charset="utf-8")


def _told(status: int, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status)


def _host_name(host: str) -> str | None:
    with suppress(ValueError):
        return urlsplit(f"//{host}").hostname
    return None


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False
