"""Secrets are taken out before a text is shortened, wherever it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.redact import MARK, SECRET_RUN_MIN, redact, shorten

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
