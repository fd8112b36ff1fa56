"""Settings, messages, receipts and secrets: what is checked of them, and what is taken out of a text."""

from __future__ import annotations

import math
from typing import Any

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.checks import is_number, is_seconds, is_whole, shown
from minamo.core.chunks import TOKENS_MAX, Usage
from minamo.core.config import ENVIRONMENT, StreamConfig
from minamo.core.limits import MS_MAX
from minamo.core.messages import (
    AllowedMentions,
    Extras,
    MessageSource,
    OutgoingFile,
    OutgoingMessage,
    Receipt,
)
from minamo.core.redact import MARK, SECRET_RUN_MIN, redact, shorten
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


def test_allowed_mentions_accept_any_collection_of_ids() -> None:
    mentions = AllowedMentions(users=[1, 2], roles=frozenset({3}))
    assert mentions == AllowedMentions(users=(1, 2), roles=(3,))


@pytest.mark.parametrize(
    "wrong", [{"users": True}, {"users": (True,)}, {"roles": ("3",)}, {"everyone": 1}]
)
def test_allowed_mentions_refuse_what_would_notify_everyone(wrong: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match=next(iter(wrong))):
        AllowedMentions(**wrong)  # type: ignore[arg-type]


def test_a_file_is_uploaded_whatever_its_text() -> None:
    file = OutgoingFile.of_text("rest.md", "é\ud800")
    assert (file.data, file.characters) == ("é?".encode(), 2)


@pytest.mark.parametrize(
    ("outcome", "kind", "lost"),
    [
        ("delivered", "create", False),
        ("unknown", "create", True),
        ("refused", "edit", True),
        ("not_sent", "delete", False),
    ],
)
def test_a_receipt_is_lost_if_text_may_be_missing(outcome: str, kind: str, lost: bool) -> None:
    receipt = Receipt(outcome=outcome, kind=kind, channel_id=1, index=0, characters=3)  # type: ignore[arg-type]
    assert receipt.lost is lost


@pytest.mark.parametrize("part", ["components", "embeds", "attachments"])
def test_extras_count_if_there_is_any_part(part: str) -> None:
    assert Extras(**{part: (object(),)})
    assert not Extras()


class Plain(MessageSource):
    """A source that has nothing but what every source must have."""

    waiting = 0

    def take(self, most: int | None = None, room: int | None = None) -> list[OutgoingMessage]:
        return []

    def withdraw(self, reason: str) -> None: ...


def test_a_source_makes_new_messages_without_a_limit_unless_it_says_otherwise() -> None:
    source = Plain()
    source.finish()
    assert (source.kind, source.limited, source.can_split) == ("create", False, False)
    with pytest.raises(NotImplementedError):
        source.take_rest()
    with pytest.raises(NotImplementedError):
        source.put_rest_back()


KEY = "canary-" + "".join(f"{number:02x}" for number in range(40))
KEYS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=SECRET_RUN_MIN, max_size=80)
#: No character of it can be a part of a key: what is found of a key came from the key.
AROUND = st.text("ÄÖÜ äöü.!?\n\t\x00\u202e", max_size=120)


def runs(secret: str, text: str) -> list[str]:
    """The parts of *secret*, of the length that counts, that *text* shows."""
    size = SECRET_RUN_MIN
    parts = {secret[at : at + size] for at in range(len(secret) - size + 1)}
    return sorted(part for part in parts if part in text)


def test_p21_a_key_at_every_place_of_the_cut_leaves_nothing() -> None:
    for most in (40, 64, 200, 300):
        for before in range(most + 2):
            for length in (SECRET_RUN_MIN, 20, len(KEY)):
                said = "Ä" * before + KEY[:length] + " ist falsch"
                told = shorten(said, most, [KEY])
                assert not runs(KEY, told), (most, before, length)
                # Not even the first characters are left at the cut.
                assert "c" not in told.replace("falsch", ""), (most, before, length)
                assert len(told) <= most


def test_p21_nor_at_the_end_of_what_is_looked_at() -> None:
    """Of a text with much to be folded, more is read than shown, and there is a cut there too."""
    for before in range(0, 6_000, 7):
        for most in (64, 300):
            told = shorten(" " * before + KEY + "Ä" * 9_000, most, [KEY])
            assert not runs(KEY, told)
            assert not told.startswith("c"), (before, most)


@given(
    st.lists(KEYS, min_size=1, max_size=3),
    st.lists(st.tuples(AROUND, st.integers(0, 80), st.integers(0, 80)), min_size=1, max_size=6),
    st.integers(1, 400),
)
def test_p21_no_part_of_a_secret_survives(
    secrets: list[str], said: list[tuple[str, int, int]], most: int
) -> None:
    text = "".join(
        around + secrets[number % len(secrets)][min(a, b) : max(a, b)]
        for number, (around, a, b) in enumerate(said)
    )
    for told in (redact(text, secrets), shorten(text, most, secrets)):
        for secret in secrets:
            assert not runs(secret, told.replace(MARK, "Ä"))


@given(AROUND, st.integers(1, 400))
def test_what_holds_no_secret_is_only_folded_and_cut(text: str, most: int) -> None:
    assert redact(text, [KEY]) == text
    plain = "".join(char for char in " ".join(text.split()) if char.isprintable())
    assert shorten(text, most, [KEY]) == (plain if len(plain) <= most else plain[: most - 1] + "…")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"Bad key {KEY}!", "Bad key [key]!"),
        (f"{KEY}{KEY}", "[key][key]"),
        (f"{KEY[:20]}****{KEY[-12:]}", "[key]****[key]"),  # masked in the middle
        (f"{KEY[:7]} {KEY[-7:]}", f"{KEY[:7]} {KEY[-7:]}"),  # too short to be told from a word
        (f"{KEY[:30]}\n{KEY[30:]}", "[key] [key]"),
        (f"{KEY[:30]}\x00{KEY[30:]}", "[key]"),
    ],
)
def test_p21_parts_of_a_key_are_keys(said: str, told: str) -> None:
    assert shorten(said, 300, [KEY]) == told


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop0123", "pplx-abcdefghijklmnop0123", "gsk_abcdefghijklmnop0123",
        "AIzaSyA1234567890abcdefghijklmnop", "Bearer abcdefghijklmnop.0123",
        "MTExMTExMTExMTExMTExMTEx.GabcdE.abcdefghijklmnopqrstuvwxyz0",
    ],
)  # fmt: skip
def test_p21_what_has_the_shape_of_a_key_goes_where_no_key_is_known(secret: str) -> None:
    for most in range(20, 120, 3):
        told = shorten(f"{'ä' * 40} {secret} ist falsch", most)
        assert secret[:12] not in told
    assert redact(f"a {secret} b") == "a [key] b"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("https://discord.com/api/webhooks/123/abcdefghijklmnopqrst?wait=1",
         "https://discord.com/api/webhooks/[key]?wait=1"),
        ("POST /interactions/123/abcdefghijklmnopqrst/callback", "POST /interactions/[key]/callback"),
        ("redis://user:pass@host:6379/0", "redis://[key]host:6379/0"),
        ("Use Bearer authentication, see https://example.org/keys:help",
         "Use Bearer authentication, see https://example.org/keys:help"),
        ("req_011CQsomething01234567890, model gpt-4o-mini-2024-07-18",
         "req_011CQsomething01234567890, model gpt-4o-mini-2024-07-18"),
    ],
)  # fmt: skip
def test_p21_tokens_in_addresses(said: str, told: str) -> None:
    assert redact(said) == told
