"""Settings, and what is checked of them: in code and in the environment."""

from __future__ import annotations

import math
from typing import Any

import pytest
from attrs import fields

from minamo.core.checks import is_number, is_seconds, is_whole, shown
from minamo.core.chunks import TOKENS_MAX, Usage
from minamo.core.config import ENVIRONMENT, StreamConfig
from minamo.core.limits import MS_MAX
from minamo.errors import BadSetting
from minamo.shell.delivery.pacing import RateLimit
from minamo.shell.providers.http import Timeouts
from minamo.shell.turns.turn_result import TurnSettings

NONSENSE = {
    "huge": 10**400, "small": -(10**400), "unprintable": 10**5_000, "nan": math.nan,
    "inf": math.inf, "minus inf": -math.inf, "half": 2.5, "flag": True, "none": None, "text": "5",
}  # fmt: skip
NUMBERS = [
    (make, field.name)
    for make in (StreamConfig, TurnSettings, RateLimit, Timeouts)
    for field in fields(make)
    if type(field.default) in (int, float) or isinstance(field.default, int | float)
    if not isinstance(field.default, bool)
]


@pytest.mark.parametrize("what", NONSENSE)
@pytest.mark.parametrize(("make", "name"), NUMBERS)
def test_a_setting_that_is_no_sane_number_is_refused(make: Any, name: str, what: str) -> None:
    value = NONSENSE[what]
    if what == "half" and make is Timeouts:
        value = -2.5
    with pytest.raises(BadSetting, match=rf"^{name} must be ") as caught:
        make(**{name: value})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("given", [(0, 1.0), (-1, 1.0), (1, -1), (1, math.nan), (2.5, 1.0)])
def test_a_pace_that_would_never_or_always_send_is_refused(given: Any) -> None:
    with pytest.raises(BadSetting, match=r"must be"):
        RateLimit(*given)


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_the_environment_is_checked_alike(name: str) -> None:
    with pytest.raises(BadSetting, match=name):
        StreamConfig.from_env({name: "9" * 4_000})
    with pytest.raises(BadSetting, match=name) as caught:
        StreamConfig.from_env({name: "sk-live-0123456789abcdefghij and so on and so on"})
    assert "sk-live" not in str(caught.value)


def test_the_largest_is_named() -> None:
    with pytest.raises(BadSetting, match=rf"whole number, 1 to {MS_MAX}; it is a number far"):
        StreamConfig(inactivity_timeout_ms=10**400)
    with pytest.raises(BadSetting, match=r"whole number, 1 to 31536000000; it is 0"):
        StreamConfig(inactivity_timeout_ms=0)


class Shy:
    def __repr__(self) -> str:
        raise ValueError("no")


def test_a_wrong_value_is_shown_briefly() -> None:
    assert shown("x" * 200) == repr("x" * 59 + "…")
    assert shown(["x" * 200]) == "['" + "x" * 57 + "…"
    assert shown(Shy()) == "a Shy"
    assert shown(2.5) == "2.5"


def test_numbers() -> None:
    assert is_whole(3, 1)
    assert not is_whole(3.0, 1)
    assert is_number(2.5, 0, 3)
    assert not is_number(math.nan, 0, 3)
    assert is_seconds(0)
    assert not is_seconds(math.inf)
    assert not is_seconds(False)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (5, 5), (None, None), (-1, 0), (10**30, TOKENS_MAX), (10**400, TOKENS_MAX), (12.0, 12),
        (math.nan, None), (math.inf, TOKENS_MAX), (-math.inf, 0), ("7", None), (True, None),
        ([], None),
    ],
)  # fmt: skip
def test_counts_of_tokens_are_within_reason(said: Any, kept: int | None) -> None:
    assert Usage(said, said, said, said) == Usage(kept, kept, kept, kept)


def test_an_empty_environment_changes_nothing() -> None:
    assert StreamConfig.from_env({}) == StreamConfig()
    assert StreamConfig.from_env({"INACTIVITY_TIMEOUT_MS": "  "}) == StreamConfig()


def test_the_environment_is_heard() -> None:
    found = StreamConfig.from_env(
        {
            "INACTIVITY_TIMEOUT_MS": "30000",
            "STREAM_SDK_CALL_TIMEOUT_MS": "10000",
            "HUMANIZER_DEGREE": "0",
            "SEND_MESSAGE_LIMIT": "5",
        }
    )
    assert found == StreamConfig(
        inactivity_timeout_ms=30_000, sdk_call_timeout_ms=10_000, degree=0, send_message_limit=5
    )


def test_code_goes_before_the_environment() -> None:
    made = StreamConfig.from_env({"INACTIVITY_TIMEOUT_MS": "nonsense"}, inactivity_timeout_ms=7)
    assert made.inactivity_timeout_ms == 7


def test_it_is_the_real_one_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_DEADLINE_MS", "1234")
    assert StreamConfig.from_env().stream_deadline_ms == 1234


@pytest.mark.parametrize("name", ENVIRONMENT)
@pytest.mark.parametrize("value", ["soon", "1.5", "-1", "99999999999999999999x"])
def test_nonsense_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name):
        StreamConfig.from_env({name: value})


def test_the_sdk_timeout_has_a_least_value() -> None:
    with pytest.raises(BadSetting, match=r"STREAM_SDK_CALL_TIMEOUT_MS.*10000 to .*9999"):
        StreamConfig.from_env({"STREAM_SDK_CALL_TIMEOUT_MS": "9999"})
