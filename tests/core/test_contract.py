"""The contract of a source: a valid chunk, or an error that says what is wrong."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import ANY

import pytest
from attrs import evolve

from minamo.core.chunks import (
    Call,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.contract import as_chunk, find_problem

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
