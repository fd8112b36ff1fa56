"""Settings from the environment, checked like those in code."""

from __future__ import annotations

import pytest

from minamo.core.config import ENVIRONMENT, StreamConfig
from minamo.errors import BadSetting


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
