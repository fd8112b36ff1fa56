"""Messages, pictures, tools and options: what makes no sense is refused before it is sent."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.wire.conversation import (
    ChatMessage,
    Image,
    assistant,
    match_tool_results,
    system,
    tool_result,
    user,
)
from minamo.wire.files import Base64
from minamo.wire.frames import HttpRequest
from minamo.wire.json import measure
from minamo.wire.options import RequestBody, RequestOptions, Tool, checked, encoded, merged

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
ROLL = Call("roll", {"sides": 6}, "c1")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a..", "image/gif"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("https://example.invalid/a/cat.JPG?size=9", "image/jpeg"),
        ("https://example.invalid/cat", ""),
    ],
)
def test_the_type_of_a_picture_is_found_out(data: Any, media_type: str) -> None:
    assert Image(data).media_type == media_type
    assert Image(data, media_type or "image/png").media_type


@pytest.mark.parametrize(
    ("source", "media_type", "message"),
    [
        (b"hello", "", "bytes are not"),
        (PNG, "image/gif", "bytes are not"),
        (PNG + b"\0" * 5_300_000, "", "at most 5242880"),
        ("http://example.invalid/a.png", "", "https"),
        ("https://[::1", "", "https"),
        ("data:image/png;base64,AAAA", "", "https"),
        ("https://example.invalid/" + "a" * 3_000, "", "https"),
        ("https://example.invalid/a.bmp", "image/bmp", "png, jpeg, gif or webp"),
        (7, "", "bytes or a URL"),
    ],
)
def test_pictures_that_no_provider_takes(source: Any, media_type: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        Image(source, media_type)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: user(""), "text, an image or a file"),
        (lambda: user(" \n"), "a user.s message needs text"),
        (lambda: user(7), "must be text, not int"),  # type: ignore[arg-type]
        (lambda: assistant(), "text or calls"),
        (lambda: assistant("a", calls=["roll"]), "Call objects"),  # type: ignore[list-item]
        (lambda: system(" "), "needs text"),
        (lambda: tool_result("roll", "4"), "answers a Call"),  # type: ignore[arg-type]
        (lambda: tool_result(ROLL, None), "must be text"),  # type: ignore[arg-type]
    ],
)
def test_messages_that_say_nothing(make: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        make()


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "at least one message"),
        ([system("You are a bot.")], "at least one message"),
        (["Hi"], "is a str"),
        ([user("Roll!"), tool_result(ROLL, "4")], "which was not called"),
        ([assistant(calls=[ROLL])], "never answered"),
        ([assistant(calls=[ROLL]), user("And?")], "is no answer"),
        (
            [assistant(calls=[ROLL]), tool_result(ROLL, "4"), tool_result(ROLL, "5")],
            "was not called",
        ),
    ],
)
def test_conversations_that_no_provider_takes(messages: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        match_tool_results(messages)


def test_calls_without_ids_are_given_some_that_match() -> None:
    twice = Call("flip")
    turns = match_tool_results([user("Flip!"), assistant(calls=[twice, twice]), tool_result(twice, "a"),
                    tool_result(twice, "b")])  # fmt: skip

    assert turns[1].ids == ("call00001", "call00002")
    assert [turn.ids for turn in turns[2:]] == [("call00001",), ("call00002",)]


def test_names_and_halves_of_characters_are_made_fit_to_send() -> None:
    assert user("a\ud83d", name="  Ann\n B ").name == "Ann B"
    assert user("a\ud83d").text == "a\ufffd"


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("", {"type": "object"}, "1 to 64 letters"),
        ("a b", {"type": "object"}, "1 to 64 letters"),
        ("1a", {"type": "object"}, "1 to 64 letters"),
        ("a", {"type": "string"}, "must be 'object'"),
        ("a", [], "not an object"),
        ("a", {"type": "object", "properties": []}, r"\$.properties"),
        ("a", {"type": "object", "required": "x"}, r"\$.required"),
        ("a", {"type": "object", "properties": {"x": {"type": "text"}}}, r"\$.properties.x.type"),
        ("a", {"type": "object", "x": object()}, "not JSON"),
        ("a", {"type": "object", "x": "\ud800"}, "not JSON"),
    ],
)
def test_tools_that_are_none(name: Any, schema: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        Tool(name, "", schema)


def test_a_schema_nested_too_deep() -> None:
    schema: Any = {}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}

    with pytest.raises(BadRequest, match="nested too deep"):
        Tool("a", "", schema)
    assert measure(schema)[1] == 81


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "no option 'temprature'"),
        ({"temperature": 3}, "from 0 to 2"),
        ({"temperature": "hot"}, "from 0 to 2"),
        ({"temperature": float("nan")}, "from 0 to 2"),
        ({"top_p": -0.1}, "from 0 to 1"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens must be a whole number from 1 to"),
        ({"max_tokens": 10**400}, "max_tokens must be a whole number from 1 to"),
        ({"seed": True}, "seed must be a whole number from 0 to"),
        ({"seed": 10**400}, "seed must be a whole number from 0 to"),
        ({"temperature": True}, "from 0 to 2"),
        ({"temperature": 10**400}, "from 0 to 2"),
        ({"top_p": float("inf")}, "from 0 to 1"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"stop": ["a"] * 17}, "at most 16"),
        ({"stop": [""]}, "none of them empty"),
        ({"stop": [7]}, "none of them empty"),
        ({"tools": ["roll"]}, "a tool is a Tool"),
        ({"tools": [Tool("a"), Tool("a")]}, "two tools of one name"),
        ({"tools": [Tool("a")], "tool_choice": "b"}, "tool_choice 'b'"),
        ({"tool_choice": "required"}, "without tools"),
        ({"extra": [1]}, "extra must be a mapping"),
    ],
)
def test_options_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        checked(options)


@pytest.mark.parametrize("given", [None, 5, "text", user("alone")])
def test_a_conversation_is_a_list(given: Any) -> None:
    with pytest.raises(BadRequest, match=r"list such as \[minamo\.user"):
        match_tool_results(given)


def test_a_message_is_made_by_a_function() -> None:
    with pytest.raises(BadRequest, match=r"message 0 is a dict.*minamo\.user"):
        match_tool_results([{"role": "user", "content": "x"}])  # type: ignore[list-item]


def test_options_that_do() -> None:
    found = checked({"stop": "a", "tools": None, "tool_choice": "none", "seed": 0})  # type: ignore[typeddict-item]

    assert found == RequestOptions(stop=("a",), tool_choice="none", seed=0)
    assert checked({"temperature": None}).temperature is None


def test_extra_fields_are_merged_mapping_by_mapping() -> None:
    body = {"a": {"b": 1, "c": 2}, "d": [1]}

    assert merged(body, {"a": {"c": 3}, "d": {"e": 1}, "f": 4}) == {
        "a": {"b": 1, "c": 3}, "d": {"e": 1}, "f": 4,
    }  # fmt: skip
    assert body == {"a": {"b": 1, "c": 2}, "d": [1]}


def test_a_body_that_is_no_json_or_too_large() -> None:
    with pytest.raises(BadRequest, match="not JSON"):
        encoded({}, {"a": object()})
    with pytest.raises(BadRequest, match="at most 20971520"):
        encoded({"a": "x" * 21_000_000}, {})
    with pytest.raises(BadRequest, match="a request of 26666676 bytes: at most 20971520"):
        encoded({"a": Base64(bytes(20_000_000))}, {})


@pytest.mark.parametrize("text", ["a", '"\\u0040"', '\\"\\u0040"', '"@"', "@", "\ud83d", "\0"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 196_607, 196_608, 196_609])
def test_files_are_encoded_in_their_places_while_a_body_is_sent(text: str, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    files = [{text: Base64(data)}, text, (Base64(b"x", "data:a/b;base64,"),), text * 99_999]
    made = encoded({"a": files}, {"b": Base64(data)})
    content, said = b64encode(data).decode(), text.replace("\ud83d", "\ufffd")

    assert json.loads(bytes(made)) == {
        "a": [{said: content}, said, ["data:a/b;base64,eA=="], said * 99_999],
        "b": content,
    }
    assert len(made) == len(bytes(made))
    assert max(map(len, made.pieces())) <= 262_144


def test_p21_a_repr_shows_neither_words_nor_keys() -> None:
    secret = "canary-words"
    shown = [
        user(secret, images=[PNG]),
        assistant(secret, calls=[Call("roll", {"a": secret}, replay={"b": secret})]),
        system(secret),
        tool_result(ROLL, secret),
        ChatMessage("user", secret),
        HttpRequest("https://example.invalid", {"x-api-key": secret}, RequestBody(secret.encode())),
        Tool("a", "", {"type": "object", "description": secret}),
        Image(f"https://example.invalid/{secret}.png"),
        RequestOptions(extra={"a": secret}),
    ]

    assert secret not in repr(shown)
    assert secret not in str(shown)
