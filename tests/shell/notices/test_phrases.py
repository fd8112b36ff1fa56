"""What minamo says, in whose language; and mistakes in a caller's own phrases."""

from __future__ import annotations

import string
from typing import Any

import pytest

from minamo.errors import BadSetting
from minamo.shell.notices.localization import Languages, Wording
from minamo.shell.notices.phrases import PHRASES, SLOTS


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("locale", PHRASES)
def test_every_language_has_every_phrase_within_its_limits(locale: str) -> None:
    phrases = PHRASES[locale]
    assert list(phrases) == list(SLOTS)
    for key, text in phrases.items():
        assert 0 < len(text) <= SLOTS[key].longest
        assert placeholders(text) == SLOTS[key].placeholders, "ours use what they may"
        assert text == text.strip()
    assert Languages({locale: phrases}).wording(locale).say("stopped") == phrases["stopped"]


def test_other_languages_are_not_english() -> None:
    for locale in set(PHRASES) - {"en"}:
        same = [key for key in SLOTS if PHRASES[locale][key] == PHRASES["en"][key]]
        assert same == ["reply_notice"]


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("en", "en"),
        ("en-GB", "en"),
        ("de-AT", "de"),
        ("DE_at", "de"),
        ("ja", "ja"),
        ("pt-BR", "en"),
        ("", "en"),
        (None, "en"),
        ("no such-thing!", "en"),
        ("-" * 100_000, "en"),
    ],
)
def test_a_locale_falls_back(asked: str | None, spoken: str) -> None:
    wording = Languages().wording(asked)
    assert wording.locale == spoken
    assert wording.say("stopped") == PHRASES[spoken]["stopped"]


def test_own_phrases_come_first_from_the_nearest_locale_on() -> None:
    portuguese = {key: f"pt {key}" for key in SLOTS}
    own = {"pt": portuguese, "pt-BR": {"stopped": "Parado."}, "en": {"stop_button": "Halt"}}
    languages = Languages(own)
    assert languages.wording("pt-BR").say("stopped") == "Parado."
    assert languages.wording("pt_br").say("stop_button") == "pt stop_button"
    assert languages.wording("pt-PT").say("stopped") == "pt stopped"
    assert languages.wording("fr").say("stop_button") == "Halt"
    assert languages.wording("fr").say("stopped") == "Stopped."
    assert languages.wording("ja").say("stop_button") == PHRASES["ja"]["stop_button"]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (["en"], "wording must map locales to phrases; it is a list"),
        ({"en": "hello"}, "wording for en must map keys to texts"),
        ({"english!": {}}, "'english!' is no locale"),
        ({7: {}}, "7 is no locale"),
        ({"en": {"stoped": "x"}}, "wording for en, stoped: there is no such phrase"),
        ({"en": {"stopped": " "}}, "wording for en, stopped must be a text that is not blank"),
        ({"en": {"stopped": 3}}, "wording for en, stopped must be a text"),
        ({"en": {"stopped": "{user}"}}, "no placeholder {user} here; there may be none"),
        ({"en": {"wait_seconds": "{second}"}}, "{second} here; there may be {seconds}"),
        ({"en": {"tool_progress": "{tool.__class__}"}}, "no placeholder {tool.__class__}"),
        ({"en": {"tool_progress": "{tool!r}"}}, "no placeholder {tool}"),
        ({"en": {"tool_progress": "{tool:>9999999}"}}, "no placeholder {tool}"),
        ({"en": {"tool_progress": "{}"}}, "no placeholder {}"),
        ({"en": {"tool_progress": "{tool"}}, "write {{ and }} for braces"),
        ({"en": {"stop_button": "x" * 81}}, "must have at most 80 characters; it has 81"),
        ({"fr": {"stopped": "Arrêté."}}, "wording for fr lacks error_title, "),
        ({"pt-BR": {"stopped": "Parado."}}, "wording for pt-br lacks error_title, "),
    ],
)
def test_mistakes_are_told_at_once(own: Any, words: str) -> None:
    with pytest.raises(BadSetting) as caught:
        Languages(own)
    assert words in str(caught.value)


def test_braces_can_be_said() -> None:
    assert Languages({"en": {"stopped": "{{}}"}}).wording("en").say("stopped") == "{}"


def test_names_are_shown_as_plain_text() -> None:
    said = Wording().say("reply_notice", name="**@everyone**\n# ||x||", link="<https://a/b_c_d>")
    assert said == r"-# ↪ <https://a/b_c_d> (\*\*\@everyone\*\* \# \|\|x\|\|)"
    assert len(Wording().say("tool_progress", tool="x" * 10_000)) < 200
    assert Wording().say("tool_progress", tool="{link} {0}") == "-# {link} {0} is running …"


def test_a_value_that_was_not_given_leaves_a_gap_and_no_exception() -> None:
    assert Wording().say("tool_progress") == "-#  is running …"
