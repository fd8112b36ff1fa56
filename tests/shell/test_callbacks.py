"""Callbacks of other people change nothing but the log."""

from __future__ import annotations

import functools
import logging
from typing import Any

import pytest

from minamo.errors import BadSetting
from minamo.shell.callbacks import Guarded, call, refuse_async

LOG = logging.getLogger("minamo.test")


async def waits(*_: Any) -> None:
    raise AssertionError("nobody awaits it")


class Called:
    async def __call__(self) -> None:
        raise AssertionError("nobody awaits it")


def test_what_it_raises_is_told_once_and_without_its_words(caplog: Any) -> None:
    calls = []

    def raises(value: int) -> None:
        calls.append(value)
        raise OSError("canary")

    guarded = Guarded("hook", raises, LOG)
    assert [guarded(1), guarded(2)] == [None, None]
    assert calls == [1]
    (line,) = caplog.messages
    assert line.startswith("hook raised OSError at test_callbacks.py:")
    assert "canary" not in caplog.text


def test_what_it_returns_is_returned() -> None:
    assert Guarded("hook", lambda value: value + 1, LOG)(1) == 2
    assert call(lambda: None) == ("", None)


def test_a_coroutine_is_closed_and_told(caplog: Any) -> None:
    guarded = Guarded("hook", lambda: waits(), LOG)
    assert [guarded(), guarded()] == [None, None]
    assert caplog.messages == [
        "hook returned an awaitable, which is not awaited; it will not be called again"
    ]


@pytest.mark.parametrize(
    "callback", [waits, functools.partial(waits, 1), Called(), Called().__call__]
)
def test_an_async_def_is_refused(callback: Any) -> None:
    with pytest.raises(BadSetting, match=r"^hook is an `async def`, and is not awaited: give"):
        refuse_async("hook", callback)


@pytest.mark.parametrize("callback", [5, "print"])
def test_so_is_what_cannot_be_called(callback: Any) -> None:
    with pytest.raises(BadSetting, match=r"^hook must be a function; it is a (int|str)$"):
        refuse_async("hook", callback)


@pytest.mark.parametrize("callback", [None, print, lambda: None, Guarded("x", print, LOG)])
def test_plain_functions_are_fine(callback: Any) -> None:
    refuse_async("hook", callback)
