"""Phrase selection by locale; phrases of the caller take precedence over minamo's.

``pt-BR`` falls back to ``pt`` and that to ``en``, phrase by phrase.  The caller's phrases are
validated on construction, so that a mistake does not first appear in an error notice.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from attrs import field, frozen

from minamo.core.cleaning.clean import clean
from minamo.core.fitting.masked import laid_open
from minamo.core.redact import shorten
from minamo.errors import BadSetting
from minamo.shell.notices.phrases import PHRASES, SLOTS

FALLBACK = "en"
# Names of users and tools are shorter; anything longer is abuse.
_VALUE_MAX = 100
# Made by minamo; escaping would break it.
_AS_IT_IS = frozenset({"link"})
# The longest registered locale has 35 characters.
_LOCALE_MAX = 35

_LOCALE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*\Z")
_FORMATTING = re.compile(r"([\\*_~|`>#\[\]()<@:-])")


@frozen(slots=True)
class Wording:
    """The phrases for one locale."""

    locale: str = FALLBACK
    _phrases: Mapping[str, str] = field(factory=lambda: PHRASES[FALLBACK], repr=False)

    def say(self, key: str, **values: str | int) -> str:
        """Return one phrase with its placeholders filled in; names are escaped to plain text."""
        given = {name: _shown(name, value) for name, value in values.items()}
        return self._phrases[key].format_map({**_blank(key), **given})


def _blank(key: str) -> dict[str, str]:
    return dict.fromkeys(SLOTS[key].placeholders, "")


def _shown(name: str, value: str | int) -> str:
    if name in _AS_IT_IS or isinstance(value, int):
        return str(value)
    plain = laid_open(" ".join(clean(value, first=False).text.split()))
    return _FORMATTING.sub(r"\\\1", shorten(plain, _VALUE_MAX, printable=False))


def _checked(own: object) -> Mapping[str, Mapping[str, str]]:
    if not isinstance(own, Mapping):
        raise BadSetting(f"wording must map locales to phrases; it is a {type(own).__name__}")
    made: dict[str, Mapping[str, str]] = {}
    for locale, phrases in own.items():
        name = _normal(locale) if isinstance(locale, str) else ""
        if not _LOCALE.match(name):
            raise BadSetting(f"wording: {locale!r} is no locale such as 'en' or 'pt-BR'")
        if not isinstance(phrases, Mapping):
            raise BadSetting(f"wording for {locale} must map keys to texts")
        for key, text in phrases.items():
            _check(f"wording for {locale}, {key}", key, text)
        made[name] = dict(phrases)
    for name in made:
        _whole(name, made)
    return made


def _check(place: str, key: object, text: object) -> None:
    if not isinstance(key, str) or key not in SLOTS:
        raise BadSetting(f"{place}: there is no such phrase; there are {', '.join(SLOTS)}")
    slot = SLOTS[key]
    if not isinstance(text, str) or not text.strip():
        raise BadSetting(f"{place} must be a text that is not blank")
    if len(text) > slot.longest:
        raise BadSetting(f"{place} must have at most {slot.longest} characters; it has {len(text)}")
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise BadSetting(f"{place}: {error}; write {{{{ and }}}} for braces") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        # Only bare names: "{tool.__class__}" would expose internals.
        if name not in slot.placeholders or form or conversion:
            may = (
                ", ".join(f"{{{placeholder}}}" for placeholder in sorted(slot.placeholders))
                or "none"
            )
            raise BadSetting(f"{place}: no placeholder {{{name}}} here; there may be {may}")


def _whole(locale: str, own: Mapping[str, Mapping[str, str]]) -> None:
    """Raise `BadSetting` if a language that minamo does not ship lacks phrases."""
    chain = _chain(locale)
    known = {key for name in chain for key in (*own.get(name, ()), *PHRASES.get(name, ()))}
    missing = [key for key in SLOTS if key not in known]
    if missing:
        raise BadSetting(f"wording for {locale} lacks {', '.join(missing)}")


def _normal(locale: str) -> str:
    return locale.strip()[:_LOCALE_MAX].replace("_", "-").lower()


def _chain(locale: str) -> list[str]:
    """Return the locale and its parents: pt-br, pt."""
    parts = locale.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]


def translations(wording: Callable[[str], Wording], key: str) -> dict[str, str]:
    """Return a phrase in every language that minamo ships, except the fallback language."""
    return {locale: wording(locale).say(key) for locale in PHRASES if locale != FALLBACK}


# Wordings kept for the next reply; Discord has about thirty locales.
_KEPT_MAX = 64


@frozen
class Languages:
    """All phrases: minamo's, and *own* as ``{"pt-BR": {"stopped": "Parado."}}``.

    For a language that minamo ships, *own* may be partial; for any other it must be complete.
    """

    own: Mapping[str, Mapping[str, str]] = field(factory=dict, converter=_checked, repr=False)
    _made: dict[str, Wording] = field(factory=dict, init=False, repr=False, eq=False)

    def wording(self, locale: str | None = None) -> Wording:
        """Return the phrases for *locale*; an unknown or malformed locale falls back."""
        wording = self._made.get(locale or FALLBACK)
        if wording is None:
            wording = self._find(locale or FALLBACK)
            if len(self._made) < _KEPT_MAX:
                self._made[locale or FALLBACK] = wording
        return wording

    def _find(self, locale: str) -> Wording:
        found: dict[str, str] = {}
        chain = [*_chain(_normal(locale)), FALLBACK]
        for name in reversed(chain):
            found |= PHRASES.get(name, {})
            found |= self.own.get(name, {})
        known = (name for name in chain if name in PHRASES or name in self.own)
        return Wording(next(known), found)
