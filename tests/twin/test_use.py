"""How others use the twin: its page, the command, the fixture, the journal."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import hikari
import pytest

from minamo.cli import twin as command
from minamo.errors import MinamoError
from minamo.twin import CREATE, Rules, Twin, TwinFailure
from minamo.twin.journal import redacted

pytestmark = pytest.mark.anyio


PAGE = Path(__file__).resolve().parents[2] / "docs" / "twin.md"
COMMAND = """
import argparse, sys
from minamo.cli import twin
parser = argparse.ArgumentParser()
twin.add(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
sys.exit(options.run(options))
"""


def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})
    assert "'pong' -> 200" in capsys.readouterr().out


def test_the_page_names_every_rule_and_fault() -> None:
    from minamo.twin import Faults

    page = PAGE.read_text(encoding="utf-8")
    planned = ("status", "drop", "stall", "delay", "limited", "html")
    settings = ("clock_skew_s", "latency_s", "gateway_deaf")
    for name in (*planned, *settings):
        assert hasattr(Faults(), name)
        assert re.search(rf"`(faults\.)?{name}\b", page), name


@pytest.mark.anyio
async def test_the_command_runs_alone_and_ends_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - it is the other side of the socket
        [sys.executable, "-u", "-c", COMMAND, "twin", "--say", "hello"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = dict(process.stdout.readline().split(maxsplit=1) for _ in range(4))
        url, token = lines["address"].strip(), lines["token"].strip()
        assert f'rest_url="{url}"' in lines["connect"]
        app = hikari.RESTApp(url=url)
        await app.start()
        async with app.acquire(token, hikari.TokenType.BOT) as rest:
            assert (await rest.fetch_my_user()).username == "twin-bot"
        await app.close()
    finally:
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert "GET    /users/@me -> 200" in output
    assert output.endswith("ended\n")
    assert errors == ""


def _options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    return parser.parse_args(["twin", *arguments])


def test_ports_that_cannot_be_used_are_said() -> None:
    options = _options("--port", "70000")
    with pytest.raises(MinamoError, match="no port 70000"):
        options.run(options)


@pytest.mark.anyio
async def test_a_port_in_use_is_said(twin: Twin) -> None:
    from minamo.cli.twin import _serve

    port = int(twin.url.split(":")[2].split("/")[0])
    with pytest.raises(MinamoError, match=f"port {port} cannot be used"):
        await _serve(port, None)


@pytest.mark.slow  # a pytest inside pytest takes its time
def test_the_fixture_works_in_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["minamo.twin.fixture"]\n')
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from minamo.twin import Rules\n"
        "pytestmark = pytest.mark.anyio\n"
        "@pytest.fixture\n"
        "def anyio_backend(): return 'asyncio'\n"
        "@pytest.fixture\n"
        "def twin_rules(): return Rules(content_max=5)\n"
        "async def test_good(twin):\n"
        "    assert (await twin.say('12345')).content == '12345'\n"
        "async def test_bad(twin):\n"
        "    await twin.say('hello')\n"
        "    assert twin.texts(bot=False) == ['something else']\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "the twin's journal" in done.stdout
    assert "gateway MESSAGE_CREATE" in done.stdout


def test_the_twin_imports_nothing_of_hikari() -> None:
    program = "import sys, minamo.twin; print('hikari' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_rules_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Rules().content_max = 5  # type: ignore[misc]


def test_the_public_names_are_pinned() -> None:
    import minamo.twin

    assert minamo.twin.__all__ == [
        "CALLBACK", "CREATE", "DELETE", "EDIT", "EXECUTE", "TYPING", "Channel", "Fault", "Faults",
        "Interaction", "Journal", "Limit", "Message", "Permission", "Refused", "Rules",
        "SlowedDown", "Style", "Twin", "TwinFailure", "User", "Webhook", "faster",
    ]  # fmt: skip
    assert all(hasattr(minamo.twin, name) for name in minamo.twin.__all__)


@pytest.mark.anyio
async def test_a_listener_may_watch_what_happens(twin: Twin) -> None:
    seen: list[tuple[str, Any]] = []
    twin.user("ann")  # else the first thing seen is that she joins
    end = twin.watch(lambda name, data: seen.append((name, data)))
    said = await twin.say("hello")
    await twin.edit(said, "hello there")
    await twin.slash("ask")
    assert [name for name, _ in seen] == ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"]
    assert seen[1][1]["content"] == "hello there"
    assert seen[2][1]["token"] == "***"
    end()
    await twin.say("unseen")
    assert len(seen) == 3


Rest = hikari.impl.RESTClientImpl


async def leaving(twin: Twin) -> str:
    with pytest.raises(TwinFailure) as caught:
        await twin.__aexit__(None, None, None)
    return str(caught.value)


async def test_an_unknown_route_is_loud_twice(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        with pytest.raises(hikari.InternalServerError, match="does not know this route"):
            await rest.fetch_voice_regions()
        assert twin.unknown == ["GET /voice/regions"]
        assert twin.journal.count(status=501) == 1  # not retried
    assert (await leaving(twin)).endswith("does not know: GET /voice/regions")


async def test_a_method_that_a_path_does_not_have_is_unknown(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        with pytest.raises(hikari.InternalServerError):
            await rest.edit_my_user(username="x")
    assert "PATCH /users/@me" in await leaving(twin)


async def test_a_body_that_nobody_foresaw_is_loud_too(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        route = hikari.internal.routes.POST_CHANNEL_MESSAGES.compile(channel=twin.channel().id)
        answers = [{"poll_media": {"text": "yes"}}]
        poll = {"question": {"text": "Shall we?"}, "answers": answers}
        with pytest.raises(hikari.InternalServerError, match="stumbled"):
            await rest._request(route, json={"content": "x", "poll": poll})
    assert "the twin has no poll" in await leaving(twin)


async def test_an_error_of_the_test_is_not_hidden_by_it() -> None:
    async def fails() -> None:
        async with Twin() as twin:
            twin.unknown.append("GET /x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()


@pytest.mark.anyio
async def test_a_message_is_seen_together_with_its_answer(twin: Twin, rest: Rest) -> None:
    """At each step of the event loop, however a waiting test is woken."""
    for latency_s in (0.0, 0.05):
        twin.faults.latency_s = latency_s
        text = f"after {latency_s}"
        sending = asyncio.create_task(rest.create_message(twin.channel().id, text))
        while not sending.done():
            calls = [one for one in twin.journal.requests(CREATE) if one.body is not None]
            found = [one.outcome for one in calls if one.body["content"] == text]
            assert ("200" in found) == (text in twin.texts())
            await asyncio.sleep(0)
        assert text in twin.texts()
    twin.faults.stall(on=CREATE)
    sending = asyncio.create_task(rest.create_message(twin.channel().id, "never"))
    await twin.journal.until(lambda: twin.journal.count(CREATE) == 3)
    assert "/messages -> no answer yet" in twin.journal.transcript()
    sending.cancel()


async def test_requests_can_be_asked_for(twin: Twin, rest: Rest) -> None:
    home, other = twin.channel().id, twin.channel("other").id
    await rest.create_message(home, "a")
    await rest.create_message(other, "b")
    with pytest.raises(hikari.BadRequestError):
        await rest.create_message(home, " ")
    journal = twin.journal
    assert [one.body["content"] for one in journal.requests(CREATE)] == ["a", "b", " "]
    assert journal.count(CREATE, channel=home) == 2
    assert journal.count(CREATE, channel=home, status=400) == 1
    assert journal.requests()[0].answer["content"] == "a"
    assert all(one.is_over for one in journal.requests())
    assert [one.at for one in journal.requests()] == sorted(one.at for one in journal.requests())
    text = journal.transcript()
    assert "'a' -> 200" in text
    assert "gateway MESSAGE_CREATE" in text


async def test_waiting_in_vain_shows_what_happened(twin: Twin, rest: Rest) -> None:
    await rest.create_message(twin.channel().id, "something else")
    with pytest.raises(TimeoutError, match="something else"):
        await twin.journal.until(lambda: False, 0.05)


async def test_no_secret_is_written_down(twin: Twin, bot: hikari.GatewayBot) -> None:
    hook = await bot.rest.create_webhook(twin.channel().id, "Nyx")
    await bot.rest.execute_webhook(hook, hook.token or "", "x")
    await bot.rest.fetch_channel_webhooks(twin.channel().id)
    used = await twin.slash("ask")
    kind = hikari.ResponseType.MESSAGE_CREATE
    await bot.rest.create_interaction_response(used.id, used.token, kind, "x")
    world = twin.world
    seen = [
        twin.journal.transcript(10_000),
        *map(repr, (twin, used, world.webhooks, world.interactions, world, twin._discord)),
        *map(repr, twin.journal.requests_made),
        *map(repr, twin.journal.events_seen),
    ]
    secrets = [twin.token, twin.token.rsplit(".", 1)[1], hook.token or "", used.token]
    assert all(len(one) > 20 for one in secrets)
    for text in seen:
        assert not [one for one in secrets if one in text]
    assert twin.journal.events("IDENTIFY", sent=False)[0].data["token"] == "***"


def test_webhook_urls_are_hidden_too() -> None:
    url = "https://discord.com/api/webhooks/123/abc-DEF_9"
    assert redacted({"a": [url]}) == {"a": ["https://discord.com/api/webhooks/123/***"]}


async def test_nothing_is_left_running(client: Any) -> None:
    before = asyncio.all_tasks()
    async with Twin() as twin, client(twin) as rest:
        await rest.create_message(twin.channel().id, "x")
    gc.collect()
    assert asyncio.all_tasks() == before
    assert repr(twin).startswith("<Twin http://127.0.0.1:")
    assert repr(Twin()) == "<Twin not started, 0 requests>"


async def test_mentions_of_the_bot_are_easy() -> None:
    async with Twin() as t:
        said = await t.say("hello", mention=True)
        assert said.content == f"{t.mention} hello"
        assert said.pinged == [t.bot.id]


BUTTONS = [
    {"type": 2, "style": 4, "custom_id": "minamo:stop:8741", "label": "End it"},
    {"type": 2, "style": 1, "custom_id": "minamo:more:1", "label": "More"},
    {"type": 2, "style": 1, "custom_id": "minamo:more:2", "label": "stop", "disabled": True},
]


@pytest.mark.parametrize(
    ("name", "pressed"),
    [
        ("minamo:stop:8741", "minamo:stop:8741"),
        ("End it", "minamo:stop:8741"),
        ("8741", "minamo:stop:8741"),
        ("1", "minamo:more:1"),
    ],
)
async def test_a_button_is_found_by_its_id_its_label_or_a_part_of_its_id(
    name: str, pressed: str
) -> None:
    async with Twin() as t:
        message = await t.say("choose")
        message.components = [{"type": 1, "components": BUTTONS}]
        assert (await t.click(message, name)).data["custom_id"] == pressed


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("more", "more than one button is called 'more': 'minamo:more:1', 'minamo:more:2'"),
        ("stop", "the button 'stop' is disabled"),  # a label comes before a part of an id
        ("less", "no button 'less' on this message; it has 'minamo:stop:8741', 'minamo:more:1'"),
    ],
)
async def test_a_button_that_cannot_be_pressed_is_refused(name: str, words: str) -> None:
    async with Twin() as t:
        message = await t.say("choose")
        message.components = [{"type": 1, "components": BUTTONS}]
        with pytest.raises(LookupError, match=words):
            await t.click(message, name)


async def test_ephemeral_texts_are_not_in_the_channel() -> None:
    async with Twin() as t:
        said = [await t.say(text) for text in ("shown", "whispered")]
        said[1].flags |= 64
        assert t.texts(bot=False) == ["shown"]
        assert t.texts(bot=False, ephemeral=True) == ["whispered"]
