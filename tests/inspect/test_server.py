"""The page over real sockets: who may come in, what they get, and what they may do."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import sys
import threading

import aiohttp
import pytest

from minamo.core.chunks import TextChunk
from minamo.core.stream import Stream
from minamo.errors import BadSetting
from minamo.inspect import server as site
from minamo.inspect.hub import Hub
from minamo.inspect.server import Prompt, serve
from minamo.shell.telemetry.observer import resolve_inspect

pytestmark = pytest.mark.anyio
SECRET = "k" * 32


class Able:
    prompts = (Prompt("Hello", "Hello there."),)

    def __init__(self):
        self.done: list[object] = []

    async def say(self, text):
        if text == "fail":
            raise BadSetting("not now")
        self.done.append(text)

    async def stop(self):
        self.done.append("stopped")

    async def press(self, message_id, button_id):
        self.done.append((message_id, button_id))


class Visitor:
    """A browser without the browser."""

    def __init__(self, served, session):
        self.base = f"http://127.0.0.1:{served.port}"
        self.session = session
        self.key = served.key

    async def enter(self):
        async with self.session.get(f"{self.base}/", params={"key": self.key}) as answer:
            assert answer.status == 200
            return answer.headers["Set-Cookie"]

    async def get(self, path, **headers):
        async with self.session.get(f"{self.base}{path}", headers=headers) as answer:
            return answer.status, dict(answer.headers), await answer.text()

    async def post(self, path, body=None, origin=None, **headers):
        sent = {"Origin": origin or self.base, **headers}
        data = body if isinstance(body, str) else json.dumps(body or {})
        async with self.session.post(f"{self.base}{path}", data=data, headers=sent) as answer:
            return answer.status, json.loads(await answer.text())


@pytest.fixture
async def hub():
    return Hub(recording=True)


@pytest.fixture
async def visitor(hub):
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address, as browsers keep them
    async with (
        serve(hub, key=SECRET, actions=Able()) as served,
        aiohttp.ClientSession(cookie_jar=jar) as s,
    ):
        yield Visitor(served, s)


@pytest.mark.parametrize(
    "path", ["/", "/page/main.js", "/api/about", "/api/live", "/api/charts/stream.svg"]
)
async def test_nothing_without_the_key(visitor, path):
    status, headers, text = await visitor.get(path)
    assert status == 403
    assert SECRET not in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]


async def test_a_wrong_key_opens_nothing(visitor):
    status, headers, _ = await visitor.get("/?key=wrong")
    assert status == 403
    assert "Set-Cookie" not in headers


async def test_the_key_is_exchanged_for_a_cookie(visitor):
    cookie = await visitor.enter()
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    status, _, text = await visitor.get("/")
    assert status == 200
    assert "<title>minamo</title>" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 403),
        ("evil.example:80", 403),
        ("127.0.0.1.evil.example", 403),
        ("[", 403),
        ("localhost:1", 200),
        ("[::1]:1", 200),
    ],
)
async def test_no_foreign_name_leads_here(visitor, host, status):
    cookie = (await visitor.enter()).partition(";")[0]
    found, _, _ = await visitor.get("/", Host=host, Cookie=cookie)
    assert found == status


@pytest.mark.parametrize("key", ["", " " * 32, "short", 5])
async def test_a_key_that_can_be_guessed_is_refused(hub, key):
    with pytest.raises(BadSetting, match="16 characters") as caught:
        async with serve(hub, key=key):
            pass
    assert not key or repr(key) not in str(caught.value)


async def test_a_session_is_not_the_key_and_each_is_its_own(visitor):
    first, second = await visitor.enter(), await visitor.enter()
    assert SECRET not in first
    name, _, session = first.partition(";")[0].partition("=")
    assert session != second.partition(";")[0].partition("=")[2]
    token, _, signature = session.partition(".")
    forged = [SECRET, "", token, f"{token}.", f"{token}x.{signature}", f".{signature}", "ä.ä"]
    async with aiohttp.ClientSession() as s:
        for value in (session, *forged):
            cookie = f"{name}={value}".encode().decode("latin-1")
            async with s.get(f"{visitor.base}/", headers={"Cookie": cookie}) as answer:
                assert answer.status == (200 if value == session else 403), value


@pytest.mark.parametrize(("key", "status"), [(SECRET, 200), (f"not {SECRET}", 403)])
async def test_a_session_ends_with_its_key(hub, key, status):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as s:
        async with serve(hub, key=SECRET) as served:
            port = served.port
            cookie = (await Visitor(served, s).enter()).partition(";")[0]
        async with (
            serve(hub, key=key, port=port) as served,
            s.get(f"http://127.0.0.1:{port}/", headers={"Cookie": cookie}) as answer,
        ):
            assert answer.status == status


async def spoken(port, request):
    """Send bytes as they are; the status of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    await writer.wait_closed()
    return int(answer.split()[1])


HOST = b"Host: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\n%sCookie: minamo_%%d=\xff\xfe\r\n\r\n" % HOST,
        b"GET / HTTP/1.1\r\n%sCookie: \xff=\xfe; minamo_%%d=a\r\n\r\n" % HOST,
        b"GET / HTTP/1.1\r\n%sCookie: minamo_%%d=%%%%ff%%%%fe\r\n\r\n" % HOST,
        b'GET / HTTP/1.1\r\n%sCookie: minamo_%%d="\\377\\376"\r\n\r\n' % HOST,
        b"GET /?key=\xff HTTP/1.1\r\n%s\r\n" % HOST,
        b"GET /?key=%%%%ff%%%%fe HTTP/1.1\r\n%s\r\n" % HOST,
        b"GET /page/%%%%ff HTTP/1.1\r\n%s\r\n" % HOST,
        b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:abc\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n%sAccept: \xff\r\n\r\n" % HOST,
        b"POST /api/say HTTP/1.1\r\n%sOrigin: http://[\r\nContent-Length: 0\r\n\r\n" % HOST,
        b"POST /api/say HTTP/1.1\r\n%sOrigin: \xff\r\nContent-Length: 0\r\n\r\n" % HOST,
    ],
)
async def test_no_bytes_from_outside_are_trouble(visitor, request_bytes):
    port = int(visitor.base.rpartition(":")[2])
    wanted = request_bytes.replace(b"%%", b"%").replace(b"%d", b"%d" % port)
    assert 400 <= await spoken(port, wanted) < 500


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'{"text": 5}', b'{"text": "\\ud800"}',
        b'{"message": "\\ud800"}', b'{"t": ' + b"9" * 400 + b', "end": true}',
        b'{"chunk": {"type": ["text"]}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["application/json; charset=no-such", "text/plain"])
async def test_no_body_from_the_page_is_trouble(visitor, body, kind):
    await visitor.enter()
    sent = {"Origin": visitor.base, "Content-Type": kind}
    for path in ("say", "stop", "press", "look"):
        url = f"{visitor.base}/api/{path}"
        async with visitor.session.post(url, data=body, headers=sent) as answer:
            assert answer.status in (200, 400), (path, answer.status)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminal", [Terminal(), io.StringIO(), None])
async def test_the_key_is_for_the_terminal_and_in_no_log(terminal, caplog, monkeypatch):
    caplog.set_level(0)
    made = resolve_inspect(True)
    monkeypatch.setattr(sys, "stderr", terminal)
    async with made.page():
        monkeypatch.undo()
        key = made.address.partition("key=")[2]
        assert len(key) >= 32
        assert key not in caplog.text
        assert "the live page is served on port" in caplog.text
    if terminal is not None:
        assert (key in terminal.getvalue()) == terminal.isatty()


async def test_other_names_must_be_given(hub):
    async with (
        serve(hub, key=SECRET, names=["bot.example"]) as served,
        aiohttp.ClientSession() as s,
    ):
        url = f"http://127.0.0.1:{served.port}/?key={SECRET}"
        async with s.get(url, headers={"Host": "bot.example"}) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", ""])
async def test_only_the_page_may_act(visitor, origin):
    await visitor.enter()
    status, _ = await visitor.post("/api/say", {"text": "hi"}, origin or "x")
    assert status == 403


async def test_the_policy_and_the_files(visitor):
    await visitor.enter()
    for path, kind in [
        ("/", "text/html"),
        ("/page/main.js", "text/javascript"),
        ("/page/base.css", "text/css"),
        ("/page/charts.css", "text/css"),
        ("/api/charts/stream.svg", "image/svg+xml"),
    ]:
        status, headers, text = await visitor.get(path)
        assert (status, headers["Content-Type"].split(";")[0]) == (200, kind)
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        # An address of the SVG namespace is a name and not a place.
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    for path in (
        "/page/nothing.js",
        "/page/..%2fserver.py",
        "/api/charts/nothing.svg",
        "/api/streams/9/look",
        "/nowhere",
    ):
        assert (await visitor.get(path))[0] == 404
    html = (await visitor.get("/"))[2]
    assert "style=" not in html
    assert " onclick" not in html


async def test_what_the_page_may_do(visitor):
    await visitor.enter()
    about = json.loads((await visitor.get("/api/about"))[2])
    assert about["may_act"] is True
    assert about["prompts"] == [{"title": "Hello", "text": "Hello there."}]
    assert {"stream", "delivery"} <= {one["name"] for one in about["charts"]}
    assert (await visitor.post("/api/say", {"text": "hi"}))[0] == 200
    assert (await visitor.post("/api/stop"))[0] == 200
    assert (await visitor.post("/api/press", {"message": "5", "button": "stop"}))[0] == 200
    for bad in ({"text": " "}, {"text": 5}, {"text": "x" * 5_000}, [], "not json"):
        assert (await visitor.post("/api/say", bad))[0] == 400
    assert await visitor.post("/api/say", {"text": "fail"}) == (400, {"error": "not now"})


async def test_nobody_waits_while_a_picture_is_drawn(visitor, monkeypatch):
    drawn_in: list[object] = []

    def draw(*_):
        drawn_in.append(threading.current_thread())
        return "<svg/>"

    monkeypatch.setattr(site, "chart_svg", draw)
    await visitor.enter()
    assert (await visitor.get("/api/charts/stream.svg"))[2] == "<svg/>"
    assert drawn_in
    assert threading.current_thread() not in drawn_in


async def test_without_actions_it_only_looks(hub):
    jar = aiohttp.CookieJar(unsafe=True)
    async with serve(hub) as served, aiohttp.ClientSession(cookie_jar=jar) as session:
        visitor = Visitor(served, session)
        await visitor.enter()
        assert json.loads((await visitor.get("/api/about"))[2])["may_act"] is False
        for path in ("/api/say", "/api/stop", "/api/press"):
            assert (await visitor.post(path, {"text": "hi"}))[0] == 403


async def test_a_port_that_is_taken_is_named(hub):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadSetting, match=rf"port {port} .*in use.*another port, or 0"):
            async with serve(hub, port=port):
                pass
    with pytest.raises(BadSetting, match="port 99999"):
        async with serve(hub, port=99_999):
            pass


async def test_the_key_is_random_and_not_shown(hub):
    async with serve(hub) as one, serve(hub) as other:
        assert one.key != other.key
        assert len(one.key) >= 32
        assert one.key in one.address
        assert one.key not in repr(one)


async def test_a_stream_can_be_looked_at(visitor, hub):
    await visitor.enter()
    stream = Stream()
    recorder = hub.open_stream(1, stream)
    for content in ("<think>a</think>", "Hello"):
        recorder.happened(hub.clock(), "chunk", TextChunk(content))
        stream.chunk(TextChunk(content))
    books = json.loads((await visitor.get("/api/streams/1/why"))[2])
    assert books["text"] == "<think>a</think>Hello"
    assert [one[4] for one in books["fates"]] == ["suppressed", "thought", "suppressed", "held"]
    look = json.loads((await visitor.get("/api/streams/1/look"))[2])
    assert [one["event"] for one in look["steps"]] == ["begin", "chunk", "chunk"]
    assert (look["summary"]["status"], look["summary"]["messages"]) == ("unfinished", [])
    assert look["summary"]["states"] == ["opening", "in_think", "streaming"]
    status, headers, trace = await visitor.get("/api/streams/1/trace")
    assert (status, headers["Content-Disposition"]) == (
        200,
        'attachment; filename="minamo-1.jsonl"',
    )
    status, again = await visitor.post("/api/look", trace)
    assert (status, again["summary"]["messages"]) == (200, ["Hello"])
    status, told = await visitor.post("/api/look", '{"nonsense": 1}')
    assert status == 400
    assert told["error"].startswith("line 1: ")


async def read(answer):
    line = await asyncio.wait_for(answer.content.readline(), 5)
    await answer.content.readline()
    return json.loads(line.removeprefix(b"data: "))


async def test_what_happens_is_heard_live(visitor, hub):
    await visitor.enter()
    async with visitor.session.get(f"{visitor.base}/api/live") as answer:
        assert (await read(answer))[0]["kind"] == "hello"
        hub.tell({"kind": "test", "text": "a\nb"})
        assert await read(answer) == [{"kind": "test", "text": "a\nb"}]
        assert len(hub._pages) == 1
    for _ in range(200):
        hub.tell({"kind": "test"})  # a connection that is gone is noticed when something is said
        if not hub._pages:
            break
        await asyncio.sleep(0.01)
    assert not hub._pages


async def test_channel_events_are_wanted_by_a_page_or_for_a_later_one():
    hub = Hub()
    assert not hub.watched
    hub.join(lambda: None)
    assert hub.watched
    assert Hub(recording=True).watched


async def test_a_page_that_does_not_read_holds_nobody_up(visitor, hub):
    await visitor.enter()
    async with visitor.session.get(f"{visitor.base}/api/live") as answer:
        assert (await read(answer))[0]["kind"] == "hello"
        loop = asyncio.get_running_loop()
        longest = 0.0
        for _ in range(60):
            began = loop.time()
            for _ in range(500):
                hub.tell({"kind": "test", "text": "x" * 500})
            longest = max(longest, loop.time() - began)
            await asyncio.sleep(0)
        assert longest < 0.5  # the bot's own time for 500 happenings, with room for a busy machine
        (page,) = hub._pages
        assert page.behind > 0
        assert len(page._queue) <= 4_000


async def test_a_quiet_connection_has_a_pulse(visitor, monkeypatch):
    monkeypatch.setattr(site, "PULSE_S", 0.01)
    await visitor.enter()
    async with visitor.session.get(f"{visitor.base}/api/live") as answer:
        await read(answer)
        assert await asyncio.wait_for(answer.content.readline(), 5) == b": still here\n"
