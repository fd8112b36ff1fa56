"""What people attach: text files, PDFs, voice messages, and files that cannot be read."""

from __future__ import annotations

from typing import Any

import hikari
import pytest

import minamo
from minamo.core.chunks import FileChunk
from minamo.shell.discord import attachments
from minamo.shell.discord.history import HistoryLimits, ReplyChain
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import Twin
from minamo.wire.conversation import ChatMessage
from support.bot import rigged
from support.pdf import pdf_of

pytestmark = pytest.mark.anyio
OGG = b"OggS\0\x02" + b"\0" * 20
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


async def read(
    twin: Twin, files: list[tuple[str, bytes]], text: str = "look", **change: Any
) -> ChatMessage:
    """The last message of a conversation, as `client.conversation` reads it."""
    async with rigged(twin, None) as rig:
        said = await twin.say(text, user="ann", files=files)
        memory = change.pop("memory", None)
        for attachment in said.attachments:
            attachment.update(change)
        message = await rig.bot.rest.fetch_message(said.channel_id, said.id)
        return (await rig.client.conversation(message, memory))[-1]


def bodies(text: str) -> list[str]:
    """The texts of quoted files."""
    return [
        part.split(">\n", 1)[1].rpartition("\n</file-")[0] for part in text.split("\n<file-")[1:]
    ]


async def test_text_files_and_code_are_read(twin: Twin) -> None:
    files = [("message.txt", b"a long\nmessage"), ("main.py", b"print('hi')\n"), ("no_suffix", b"x"),
             ("notes.md", "é".encode("utf-16"))]  # fmt: skip
    told = await read(twin, files)
    assert told.text.startswith("look\n<file-")
    assert bodies(told.text) == ["a long\nmessage", "print('hi')", "x", "é"]
    assert 'name="message.txt">' in told.text


async def test_pdfs_and_voice_messages_are_files(twin: Twin) -> None:
    document = pdf_of("x")
    told = await read(twin, [("a.pdf", document), ("voice-message.ogg", OGG), ("dot.png", PNG)],
                      duration_secs=12.4, waveform="")  # fmt: skip
    assert told.text == "look"
    assert [(file.name, file.data, file.media_type) for file in told.files] == [
        ("a.pdf", document, "application/pdf"),
        ("voice-message.ogg", OGG, "audio/ogg"),
    ]
    assert told.files[1].seconds == 12.4
    assert len(told.images) == 1
    said = minamo.OpenAICompatible("http://127.0.0.1:9/v1", model="m").chat([told]).request
    assert b"[this is a voice message of 12 s, which cannot be listened to here]" in said.body


async def test_a_message_of_only_a_file_is_a_message(twin: Twin) -> None:
    told = await read(twin, [("message.txt", b"hello")], f"<@{twin.bot.id}>")
    assert bodies(f"\n{told.text}") == ["hello"]
    told = await read(twin, [("voice-message.ogg", OGG)], "")
    assert (told.text, len(told.files)) == ("", 1)


async def test_what_cannot_be_read_is_named(twin: Twin) -> None:
    files = [
        ("a.zip", b"PK\3\4"),
        ("b.bin", b"\0\1"),
        ("c.txt", b"caf\xe9"),
        ("film.mp4", b"x"),
        ("d.txt", b"fine"),
    ]
    told = await read(twin, files)
    assert told.text.split("\n")[:-3] == [
        "look",
        "[the file a.zip is left out: neither text, a PDF, a picture nor sound]",
        "[the file b.bin is left out: neither text, a PDF nor sound]",
        "[the file c.txt is left out: neither text in UTF-8, a PDF nor sound]",
        "[the file film.mp4 is left out: neither text, a PDF, a picture nor sound]",
    ]
    assert bodies(told.text) == ["fine"]


async def test_a_lost_download_is_named_and_nothing_else_is_lost(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        said = await twin.say("look", user="ann", files=[("gone.txt", b"a"), ("here.txt", b"b")])
        said.blobs.pop(said.attachments[0]["id"])
        message = await rig.bot.rest.fetch_message(said.channel_id, said.id)
        (told,) = await rig.client.conversation(message)
    assert "[the file gone.txt is left out: it could not be downloaded]" in told.text
    assert bodies(told.text) == ["b"]


async def test_files_have_limits(twin: Twin) -> None:
    files = [("a.txt", b"abcdef"), ("b.txt", b"ghi"), ("c.txt", b"j"), ("d.txt", b"k")]
    told = await read(twin, files, memory=HistoryLimits(file_characters_max=8))
    assert bodies(told.text)[0] == "abcdef"
    assert 'name="b.txt" note="the first 2 characters only">\ngh\n</file-' in told.text
    assert "[the file c.txt is left out: there is no more room]" in told.text
    told = await read(twin, files, memory=HistoryLimits(files_max=2))
    assert told.text.count("is left out: too many files]") == 2


async def test_large_files(twin: Twin) -> None:
    told = await read(
        twin, [("a.log", b"line\n" * 300_000)], memory=HistoryLimits(file_characters_max=10_000_000)
    )
    assert 'note="only the beginning">' in told.text
    assert 1_000_000 < len(told.text) < 1_050_000
    told = await read(twin, [("a.pdf", pdf_of("x"))], size=10_485_761)
    assert told.text == "look\n[the file a.pdf is left out: larger than 10 MiB]"
    # A file that says it is larger than it is was not read whole.
    told = await read(twin, [("a.pdf", pdf_of("x"))], size=10_000)
    assert told.text == "look\n[the file a.pdf is left out: there is no more room]"


async def test_files_and_pictures_never_exceed_a_request(twin: Twin) -> None:
    document = pdf_of("x") + b"%" * 6_000_000
    async with rigged(twin, None) as rig:
        said = [
            await twin.say("look", files=[("a.pdf", document), ("b.pdf", document)])
            for _ in range(2)
        ]
        chain = [await rig.bot.rest.fetch_message(one.channel_id, one.id) for one in said]
        chain.insert(0, chain[1])
        memory = HistoryLimits()
        told = await ReplyChain(rig.bot.rest, twin.bot.id, memory).read(chain)
    assert [len(one.files) for one in told] == [0, 0, 2]
    assert told[0].text.count("there is no more room") == 2
    for llm in (
        minamo.Anthropic(model="claude-opus-5", api_key="k"),
        minamo.Gemini(model="m", api_key="k"),
    ):
        llm.chat([minamo.system("Be kind. " * 1_000), *told])


async def test_text_that_does_not_fit_a_request_is_left_out() -> None:
    room = attachments.Room(300, 1, 1, 1_000)

    class Attachment:
        filename, title, media_type, size, duration = "a.txt", None, "text/plain", 500, None

        def stream(self) -> Any:
            return self

        async def __aenter__(self) -> Any:
            return self._parts()

        async def __aexit__(self, *_: object) -> None:
            pass

        async def _parts(self) -> Any:
            yield b"a" * 500

    async def ask(call: Any) -> Any:
        return await call

    told = await attachments.read_attachments([Attachment()], room, ask)  # type: ignore[list-item]
    assert told.texts == ["[the file a.txt is left out: there is no more room]"]


async def test_an_endless_download_ends(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    from aiohttp import web

    from support.provider_server import serving

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"line\n" * 10_000)
        except ConnectionError:
            return response

    async with serving(endless) as server:
        told = await read(twin, [("a.txt", b"x")], url=server.url)
        told_pdf = await read(twin, [("a.pdf", b"%PDF-x")], url=server.url)
    assert "the first 60000 characters only" in told.text
    assert "the first 60000 characters only" in told_pdf.text


async def test_a_picture_of_the_bots_own_can_be_talked_about(twin: Twin) -> None:
    """A user replies to a picture: "make it blue"."""
    dots = [FileChunk(PNG + bytes([n]), "image/png", f"dot-{n}.png") for n in range(2)]
    told: list[list[ChatMessage]] = []

    async def answer(rig: Any, event: Any) -> Any:
        told.append(await rig.client.conversation(event))
        script = ScriptedProvider(["Two dots:", *dots, "Enjoy."])
        return await rig.client.stream(event, script, reply=True)

    async with rigged(twin, answer) as rig:
        await rig.ask("draw")
        await twin.reply(twin.messages()[-1], "make them blue", user="ann")
        await rig.until(lambda: len(told) == 2)
    asked = told[1]
    assert [one.role for one in asked] == ["user", "assistant", "user"]
    assert [one.source for one in asked[2].images] == [dot.data for dot in dots]
    assert asked[1].text == "Two dots:\n\nEnjoy."
    assert asked[2].text.split("\n") == [
        "make them blue",
        "[attached, too: dot-1.png, which you sent before]",
        "[attached, too: dot-0.png, which you sent before]",
    ]


async def test_pictures_of_the_bot_without_a_question_after_them(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        files = [hikari.Bytes(PNG, "dot.png"), hikari.Bytes(b"x", "a.txt")]
        mine = await rig.bot.rest.create_message(
            twin.channel("general").id, "Mine.", attachments=files
        )
        told = await ReplyChain(rig.bot.rest, twin.bot.id, HistoryLimits()).read([mine])
        said = await twin.say("look", user="ann")
        asked = await rig.bot.rest.fetch_message(said.channel_id, said.id)
        none = HistoryLimits(images_max=0)
        left = await ReplyChain(rig.bot.rest, twin.bot.id, none).read([asked, mine, asked])
    assert told == []
    assert [(one.text, one.images) for one in left] == [("look", ()), ("Mine.", ()), ("look", ())]
