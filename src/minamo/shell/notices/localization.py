"""Which words minamo uses for whom: phrases by locale, the caller's own before ours.

``pt-BR`` falls back to ``pt`` and that to ``en``, phrase by phrase.  What a caller gives is
checked at once, so that a spelling mistake is not first seen by a person in trouble.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from attrs import field, frozen

from minamo.core.cleaning.clean import clean
from minamo.core.redact import shorten
from minamo.errors import BadSetting
from minamo.shell.notices.phrases import PHRASES, SLOTS

FALLBACK = "en"
# Names of people and tools are shorter; anything longer is a joke at the reader's expense.
_VALUE_MAX = 100
# Made by the program, and would not survive being escaped.
_AS_IT_IS = frozenset({"link"})
# The longest that anybody registered has 35.
_LOCALE_MAX = 35

_LOCALE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*\Z")
_FORMATTING = re.compile(r"([\\*_~|`>#\[\]()<@:-])")


@frozen(slots=True)
class Wording:
    """The phrases for one person."""

    locale: str = FALLBACK
    _phrases: Mapping[str, str] = field(factory=lambda: PHRASES[FALLBACK], repr=False)

    def say(self, key: str, **values: str | int) -> str:
        """One phrase with its placeholders filled in; names are shown as plain text."""
        given = {name: _shown(name, value) for name, value in values.items()}
        return self._phrases[key].format_map({**_blank(key), **given})


def _blank(key: str) -> dict[str, str]:
    return dict.fromkeys(SLOTS[key].placeholders, "")


def _shown(name: str, value: str | int) -> str:
    if name in _AS_IT_IS or isinstance(value, int):
        return str(value)
    plain = " ".join(clean(value, first=False).text.split())
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


def _check(where: str, key: object, text: object) -> None:
    if not isinstance(key, str) or key not in SLOTS:
        raise BadSetting(f"{where}: there is no such phrase; there are {', '.join(SLOTS)}")
    slot = SLOTS[key]
    if not isinstance(text, str) or not text.strip():
        raise BadSetting(f"{where} must be a text that is not blank")
    if len(text) > slot.longest:
        raise BadSetting(f"{where} must have at most {slot.longest} characters; it has {len(text)}")
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise BadSetting(f"{where}: {error}; write {{{{ and }}}} for braces") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        # Only bare names: "{tool.__class__}" would reach into the program.
        if name not in slot.placeholders or form or conversion:
            may = ", ".join(f"{{{one}}}" for one in sorted(slot.placeholders)) or "none"
            raise BadSetting(f"{where}: no placeholder {{{name}}} here; there may be {may}")


def _whole(locale: str, own: Mapping[str, Mapping[str, str]]) -> None:
    """A language that is all the caller's own must be there as a whole."""
    chain = _chain(locale)
    known = {key for one in chain for key in (*own.get(one, ()), *PHRASES.get(one, ()))}
    missing = [key for key in SLOTS if key not in known]
    if missing:
        raise BadSetting(f"wording for {locale} lacks {', '.join(missing)}")


def _normal(locale: str) -> str:
    return locale.strip()[:_LOCALE_MAX].replace("_", "-").lower()


def _chain(locale: str) -> list[str]:
    """The locale and what it is a variety of: pt-br, pt."""
    parts = locale.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]


def translations(wording: Callable[[str], Wording], key: str) -> dict[str, str]:
    """A phrase in every language that comes with minamo, but for the one that all fall back to."""
    return {one: wording(one).say(key) for one in PHRASES if one != FALLBACK}


@frozen
class Languages:
    """All phrases there are: ours, and *own* as ``{"pt-BR": {"stopped": "Parado."}}``.

    For a language that minamo speaks, some phrases are enough; for another, all are needed.
    """

    own: Mapping[str, Mapping[str, str]] = field(factory=dict, converter=_checked, repr=False)

    def wording(self, locale: str | None = None) -> Wording:
        """The phrases for somebody with that locale, which may be any text."""
        found: dict[str, str] = {}
        chain = [*_chain(_normal(locale or FALLBACK)), FALLBACK]
        for one in reversed(chain):
            found |= PHRASES.get(one, {})
            found |= self.own.get(one, {})
        known = (one for one in chain if one in PHRASES or one in self.own)
        return Wording(next(known), found)
