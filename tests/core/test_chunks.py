"""Chunks: the contract of a source, and files that a model makes."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import ANY

import pytest
from attrs import evolve

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.pending import RenderedPrefix
from minamo.core.accounting.spans import Ledger
from minamo.core.actions import Effect
from minamo.core.chunks import (
    Call,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk, find_problem
from minamo.core.fitting.fit import Portion, fit_front
from minamo.core.lexing.filters import Silence
from minamo.core.lexing.segmenter import Run, Segment
from minamo.core.stream import Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import Replayed
from minamo.testing.checks import check_stream

CALL = Call("roll", {"n": 6}, "c1", {"sig": "s"})
FINE: list[Any] = [
    TextChunk("a"), TextChunk("", ("b",)), TextChunk("a", overlap=3),
    FileChunk(b"a"), FileChunk(b"a", "image/png", "a.png", ("b",)),
    FunctionCall((CALL,)), FunctionCall((CALL, CALL), ("b",), Usage(1, 2), "stop"),
    ErrorChunk("timeout"), ErrorChunk("rate_limit", "slow", True, 3.5, 429, ("b",)),
    DoneChunk(), DoneChunk("stop", Usage(1, 2, 3, 4), "m", "p", ("b",), {"x": 1}),
]  # fmt: skip


@pytest.mark.parametrize("chunk", FINE)
def test_what_keeps_the_contract_passes(chunk: Any) -> None:
    assert find_problem(chunk) == ""
    assert as_chunk(chunk) == (chunk, "")
    assert getattr(as_chunk(chunk)[0], "overlap", None) == getattr(chunk, "overlap", None)
    assert find_problem(as_chunk(chunk)[0]) == ""


class Loud(str):
    """Text whose methods do what nobody expects of text."""

    def isascii(self) -> bool:
        raise ValueError("no")

    def __str__(self) -> str:
        return "lies"


class OwnText(TextChunk):
    pass


class OwnError(ErrorChunk):
    pass


class OwnCall(FunctionCall):
    pass


class OwnDone(DoneChunk):
    pass


class OwnUsage(Usage):
    pass


@pytest.mark.parametrize(
    ("said", "chunk"),
    [
        ("a", TextChunk("a")),
        (Loud("a"), TextChunk("a")),
        (TextChunk(Loud("a")), TextChunk("a")),
        (OwnText(Loud("a"), (Loud("b"),)), TextChunk("a", ("b",))),
        (OwnError("timeout", Loud("a")), ErrorChunk("timeout", "a")),
        (ErrorChunk(Loud("timeout")), ErrorChunk("timeout")),  # type: ignore[arg-type]
        (OwnCall((Call(Loud("a")),)), FunctionCall((Call("a"),))),
        (OwnDone(Loud("a"), OwnUsage(1)), DoneChunk("a", Usage(1))),
        (ErrorChunk("rate_limit", "x" * 1_000), ErrorChunk("rate_limit", "x" * 299 + "…")),
        (ErrorChunk("rate_limit", retry_after=10**400), ErrorChunk("rate_limit")),
        (
            ErrorChunk("rate_limit", retry_after=10**9),
            ErrorChunk("rate_limit", retry_after=3_600.0),
        ),
        (DoneChunk("x" * 1_000), DoneChunk("x" * 299 + "…")),
    ],
)
def test_it_is_made_one_of_ours(said: Any, chunk: Any) -> None:
    made, _ = as_chunk(said)
    assert made == chunk
    assert type(made) is type(chunk)


@pytest.mark.parametrize(
    ("error", "mended", "problem"),
    [
        (
            ErrorChunk("server_error", "x"),
            ErrorChunk("api_error", "x"),
            "kind must be one of api_error, ",
        ),  # type: ignore[arg-type]
        (ErrorChunk(None, "x"), ErrorChunk("api_error", "x"), "and is None"),  # type: ignore[arg-type]
        (ErrorChunk(ANY, "x"), ErrorChunk("api_error", "x"), "kind must be"),
        (
            ErrorChunk("timeout", None),
            ErrorChunk("timeout"),
            "message must be text, and is a NoneType",
        ),  # type: ignore[arg-type]
        (
            ErrorChunk("timeout", "x", 1),
            ErrorChunk("timeout", "x"),
            "retryable must be true or false",
        ),  # type: ignore[arg-type]
        (
            ErrorChunk("timeout", "x", True, "30"),
            ErrorChunk("timeout", "x", True),
            "retry_after must be",
        ),  # type: ignore[arg-type]
        (ErrorChunk("timeout", "x", True, -1), ErrorChunk("timeout", "x", True), "and is -1"),
        (
            ErrorChunk("timeout", "x", True, math.nan),
            ErrorChunk("timeout", "x", True),
            "and is nan",
        ),
        (ErrorChunk("timeout", "x", True, True), ErrorChunk("timeout", "x", True), "and is True"),
        (
            ErrorChunk("timeout", status="500"),
            ErrorChunk("timeout"),
            "status must be an HTTP status",
        ),  # type: ignore[arg-type]
        (ErrorChunk("timeout", status=10**400), ErrorChunk("timeout"), "far beyond that"),
        (ErrorChunk("timeout", thoughts=(None,)), ErrorChunk("timeout"), "thoughts must be texts"),  # type: ignore[arg-type]
    ],
)
def test_an_error_is_mended(error: ErrorChunk, mended: ErrorChunk, problem: str) -> None:
    made, told = as_chunk(error)
    assert made == mended
    assert problem in told
    assert told == find_problem(error)


class Hidden:
    @property
    def __class__(self) -> Any:
        raise ValueError("no")


class Shady(TextChunk):
    @property
    def content(self) -> Any:  # type: ignore[override]
        raise ValueError("canary")


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ValueError("no")


class Nameless(metaclass=Meta):
    pass


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (None, "this gave None; leave those out"),
        (5, "this gave a int; give the text in it"),
        (b"x", "this gave a bytes"),
        (Shady(), "a Shady whose fields raise ValueError"),
        (object.__new__(DoneChunk), "a DoneChunk whose fields raise AttributeError"),
        (object.__new__(ErrorChunk), "a ErrorChunk whose fields raise AttributeError"),
        (TextChunk(None), "in TextChunk, content must be text, and is a NoneType"),  # type: ignore[arg-type]
        (TextChunk("a", overlap=-1), "overlap must be a number of characters, and is a int"),
        (TextChunk("a", overlap="x"), "overlap must be a number of characters, and is a str"),  # type: ignore[arg-type]
        (FileChunk("a"), "in FileChunk, data must be bytes, and is a str"),  # type: ignore[arg-type]
        (FileChunk(b"a", 7), "media_type must be text, and is a int"),  # type: ignore[arg-type]
        (FileChunk(b"a", "", None), "name must be text, and is a NoneType"),  # type: ignore[arg-type]
        (TextChunk("a", "thought"), "thoughts must be a tuple of texts, and is a str"),  # type: ignore[arg-type]
        (TextChunk("a", (None,)), "thoughts must be texts, and one is a NoneType"),  # type: ignore[arg-type]
        (FunctionCall(()), "there are no calls"),
        (FunctionCall(None), "calls must be a tuple of Call, and is a NoneType"),  # type: ignore[arg-type]
        (FunctionCall(("roll",)), "calls must be Call, and one is a str"),  # type: ignore[arg-type]
        (FunctionCall((Call(""),)), "a call needs a name"),
        (FunctionCall((Call(None),)), "name must be text"),  # type: ignore[arg-type]
        (FunctionCall((Call("a", "{}"),)), "arguments must be a mapping of names, and is a str"),  # type: ignore[arg-type]
        (FunctionCall((Call("a", {1: 2}),)), "arguments must be a mapping of names"),  # type: ignore[dict-item]
        (FunctionCall((evolve(CALL, id=7),)), "id must be text"),  # type: ignore[arg-type]
        (FunctionCall((evolve(CALL, replay=None),)), "replay must be a mapping"),
        (FunctionCall((CALL,), usage=7), "usage must be a Usage, and is a int"),  # type: ignore[arg-type]
        (FunctionCall((CALL,), finish_reason=None), "finish_reason must be text"),  # type: ignore[arg-type]
        (DoneChunk(None), "finish_reason must be text, and is a NoneType"),  # type: ignore[arg-type]
        (DoneChunk(model=7), "model must be text"),  # type: ignore[arg-type]
        (DoneChunk(usage={}), "usage must be a Usage"),  # type: ignore[arg-type]
        (DoneChunk(replay=[]), "replay must be a mapping"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_anything_else_is_an_error(said: Any, problem: str) -> None:
    made, told = as_chunk(said)
    assert isinstance(made, ErrorChunk)
    assert problem in told
    assert made == ErrorChunk("api_error", f"the provider failed: {told}")
    assert "canary" not in told


def test_so_is_what_cannot_even_be_looked_at() -> None:
    assert "this gave a Nameless" in as_chunk(Nameless())[1]
    assert "a Hidden whose fields raise ValueError" in as_chunk(Hidden())[1]


CAT = FileChunk(b"cat", "image/png", "cat.png")
DOG = FileChunk(b"dog", "image/png", "dog.png")


def said(*parts: str | Chunk, **config: Any) -> Replayed:
    """The reply of these parts, audited, with every character in a chunk of its own too."""
    chunks = [TextChunk(part) if isinstance(part, str) else part for part in parts]
    moments = [Moment(0, "chunk", chunk) for chunk in chunks]
    return check_stream(Trace(StreamConfig(**config), (*moments, Moment(0, "end"))))


@pytest.mark.parametrize("degree", range(4))
def test_a_file_stands_between_the_text_before_it_and_the_text_after_it(degree: int) -> None:
    done = said("Here is a cat: ", CAT, "And a ", "dog:", DOG, degree=degree)
    assert done.messages == ("Here is a cat:", "[cat.png]", "And a dog:", "[dog.png]")
    assert done.result.files == (CAT, DOG)
    assert done.result.status == "completed"
    assert done.result.accumulated_text == "Here is a cat: \n\nAnd a dog:"


def test_a_file_alone_is_a_reply() -> None:
    done = said(CAT)
    assert (done.result.status, done.messages) == ("completed", ("[cat.png]",))
    assert said(CAT, CAT).messages == ("[cat.png]", "[cat.png]")


@pytest.mark.parametrize(
    ("parts", "messages"),
    [
        # Code goes on behind the file, in a block of its own.
        (["```py\na = 1\n", CAT, "b = 2\n```\nend"], ("```py\na = 1\n```", "[cat.png]", "```py\nb = 2\n```", "end")),
        # A block may begin right behind a file: a new line begins there.
        (["see", CAT, "```py\na\n```\nend"], ("see", "[cat.png]", "```py\na\n```", "end")),
        (["- a\n    ", CAT, "```\nb\n```"], ("- a", "[cat.png]", "```\nb\n```")),
        # What is undecided before the file is decided there.
        (["a <thi", CAT, "nk> b"], ("a <thi", "[cat.png]", "nk> b")),
        (["a `b", CAT, "c` d"], ("a `b", "[cat.png]", "c` d")),
        (["**a", CAT, "b**"], ("**a", "[cat.png]", "b**")),
        (["a\r", CAT, "\nb"], ("a", "[cat.png]", "b")),
        # A file is no part of the thought around it.
        (["<think>a", CAT, "b</think>c"], ("[cat.png]", "c")),
        (["<details>a", CAT, "b</details>c"], ("[cat.png]", "c")),
        # An orphan tag behind a file claims no text that was sent.
        (["a", CAT, "b</think>c"], ("a", "[cat.png]", "bc")),
    ],
)  # fmt: skip
def test_a_file_in_the_middle_of_things(
    parts: list[str | Chunk], messages: tuple[str, ...]
) -> None:
    assert said(*parts).messages == messages


def test_thoughts_that_come_with_a_file_are_kept() -> None:
    done = said(FileChunk(b"", thoughts=("I draw.",)))
    assert done.thoughts == ("I draw.",)


def test_filters_let_go_of_what_they_hold() -> None:
    assert said("Bo", CAT, "b: hi", speaker_names=("Bob",)).messages == ("Bo", "[cat.png]", "b: hi")
    assert said(CAT, "more", prefill="So ").messages == ("So", "[cat.png]", "more")
    stream, sent = idle(StreamConfig())
    stream.actions.silence = Silence("<silence/>")
    for chunk in (TextChunk("<silence/>"), CAT):
        stream.chunk(chunk)
    stream.end()
    assert sent == ["<silence/>", "cat.png"]


def idle(config: StreamConfig) -> tuple[Stream, list[str]]:
    stream, sent = Stream(config), []

    def deliver() -> None:
        messages = stream.actions.outbox.take_segment()
        sent.extend(
            message.text or message.file.name
            for message in messages
            if message.file or message.text
        )
        stream.delivered(len(messages))

    stream.actions.idle_lane = deliver
    return stream, sent


def test_the_limit_counts_files() -> None:
    done = said("a", CAT, DOG, "b", send_message_limit=2)
    assert (done.messages, done.result.files) == (("a", "[cat.png]"), (CAT,))
    assert done.result.stop_reason == "send_message_limit"


def test_without_output_files_are_in_the_result_only() -> None:
    done = said("a", CAT, "b", suppress_text_output=True)
    assert (done.messages, done.result.files) == ((), (CAT,))
    assert said(CAT, suppress_text_output=True).result.status == "completed"


@pytest.mark.parametrize(
    "last", [DoneChunk("stop"), ErrorChunk("api_error", "no"), FunctionCall(())]
)
def test_a_file_behind_the_end_is_late(last: Chunk) -> None:
    done = said("a", last, CAT, "b") if not isinstance(last, DoneChunk) else said("a", CAT, last)
    assert done.result.files == ((CAT,) if isinstance(last, DoneChunk) else ())


# A lane that is behind.


def behind(*chunks: Chunk) -> Stream:
    stream = Stream(StreamConfig())
    for chunk in chunks:
        stream.chunk(chunk)
    return stream


def test_a_lane_that_is_behind_merges_text_but_not_across_a_file() -> None:
    stream = behind(TextChunk("a\n\nb\n\n"), CAT, DOG, TextChunk("c\n\nd"))
    stream.end()
    outbox = stream.actions.outbox
    assert stream.take_effects().count(Effect.DELIVER) == 6
    taken = []
    while outbox.waiting:
        taken += outbox.take()
    assert [message.text or (message.file and message.file.name) for message in taken] == [
        "a\n\nb", "cat.png", "dog.png", "c\n\nd",
    ]  # fmt: skip
    for number in range(4):
        stream.arrived(number)
    stream.flushed()
    assert stream.result().files == (CAT, DOG)


def test_a_file_that_was_not_delivered_is_not_in_the_result() -> None:
    stream = behind(TextChunk("a"), CAT, DOG)
    stream.end()
    outbox = stream.actions.outbox
    while outbox.waiting:
        outbox.take()
    stream.arrived(0)
    stream.missed(1, "undelivered")
    stream.arrived(1)  # after it was given up
    outbox.drop_file(2)  # a line of text went in its place
    stream.arrived(2)
    stream.flushed()
    assert stream.result().files == ()


def test_a_kill_takes_a_file_back_and_that_decides_the_outcome() -> None:
    stream = behind(CAT)
    stream.end()
    stream.kill()
    assert stream.actions.outbox.waiting == 0
    stream.flushed()
    assert (stream.result().status, stream.result().stop_reason) == ("stopped_by_user", "killed")
    assert stream.result().files == ()


def test_the_rest_as_one_text_leaves_the_files() -> None:
    stream = behind(TextChunk("a\n\n"), CAT, TextChunk("b"))
    stream.end()
    outbox = stream.actions.outbox
    assert outbox.take_rest() == "a\n\nb"
    assert outbox.waiting == 1
    outbox.put_rest_back()
    assert [message.text for message in outbox.take()] == ["a\n\nb"]
    assert outbox.take()[0].file is not None


# A reply that is edited in place.


def segment(text: str, start: int) -> Segment:
    return Segment(text, (Run(0, start),))


@pytest.mark.parametrize(("reason", "recalled"), [("stop", True), ("undelivered", False)])
def test_in_a_growing_reply_files_follow_the_text(reason: str, recalled: bool) -> None:
    outbox = Outbox(StreamConfig(), Ledger())
    outbox.grows = True
    outbox.put(segment("a", 0))
    outbox.put_file(CAT)
    look = outbox.snapshot(segment("b", 1))
    outbox.put(segment("b", 1))
    assert look.text == "a\n\nb"
    assert outbox.after == [CAT]
    fitted, end = fit_front(look.text)
    outbox.withdraw(reason)
    assert outbox.settle(RenderedPrefix(look, Portion(fitted), end)) is recalled
    assert outbox.text == "a\n\nb"
    assert outbox.ledger.additions == {"file": 2}
    assert not outbox.ledger.suppressed
