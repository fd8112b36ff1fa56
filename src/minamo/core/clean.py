"""Clean one segment, and say what became of every character of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from minamo.core import clean_rules
from minamo.core.clean_rules import Setting
from minamo.core.edits import Edit, edit, whole
from minamo.core.intake import RULE as LINE_END
from minamo.core.invisible import all_visible
from minamo.core.limits import CLEAN_PASSES_MAX
from minamo.core.masked_links import NO_LINKS, Links
from minamo.core.pieces import Shaped

_Rule = Callable[[str, Setting], list[Edit]]

# The order is part of the promise.  Invisible characters first, so that no other rule can
# be fooled by them; debris before the name label that may stand behind it; blank lines
# after everything that can empty a line; links before mentions, so that no mention is
# put into an address.
_ORDER: tuple[tuple[str, _Rule], ...] = (
    ("invisible", clean_rules.invisible),
    ("template", clean_rules.template),
    ("system_leak", clean_rules.system_leak),
    ("own_name", clean_rules.own_name),
    ("blank_lines", clean_rules.blank_lines),
    ("masked_link", clean_rules.masked_link),
    ("mention", clean_rules.mention),
    ("fence", clean_rules.fence),
)

#: Line ends are made one when a chunk comes in, before anything is read.
RULES: tuple[str, ...] = (*(name for name, _ in _ORDER), LINE_END)

# What none of the rules but `invisible` and `own_name` can do without.
_SUSPECT = re.compile(r"[<\[\]@]|```|~~~|\n[^\S\n]*\n[^\S\n]*\n")

_NOBODY: Mapping[str, str] = MappingProxyType({})


def clean(
    text: str,
    *,
    off: frozenset[str] = frozenset(),
    bot_name: str = "",
    mentions: Mapping[str, str] = _NOBODY,
    first: bool = True,
    fence: str = "",
    torn: bool = False,
    links: Links = NO_LINKS,
    uncensor_unicode_space: bool = False,
) -> Shaped:
    """Apply the rules to one segment.

    Args:
        text: The segment; it may hold code, which only `invisible` touches.
        off: Names of rules to leave out, see `RULES`.
        bot_name: Taken off the front of the reply when it stands there as a label.
        mentions: Ids by name, the name without its "@".
        first: Whether the segment begins the reply.
        fence: The run that opened the fence in which the segment begins, if it does.
        torn: Whether the next segment goes on inside of what this one ends in.
        links: What the segments before it may have begun of a masked link.
        uncensor_unicode_space: Keep U+200B, which the model put into words on purpose.

    Raises:
        ValueError: *off* holds a name that no rule has.
    """
    if off and (unknown := sorted(off.difference(RULES))):
        raise ValueError(f"no such rule: {', '.join(unknown)}; there are {', '.join(RULES)}")
    if not (first and bot_name) and not links.label and _is_clean(text):
        return whole(text)
    setting = Setting(
        bot_name=bot_name,
        mentions=mentions,
        first=first,
        fence=fence,
        torn=torn,
        links=links,
        keep_zero_width_space=uncensor_unicode_space,
    )
    shaped = whole(text)
    for name, rule in _ORDER:
        if name not in off:
            shaped = _settled(shaped, name, rule, setting)
    return shaped


def _is_clean(text: str) -> bool:
    """Whether no rule can find anything in *text*; most segments are like that."""
    return _SUSPECT.search(text) is None and all_visible(text)


def _settled(shaped: Shaped, name: str, rule: _Rule, setting: Setting) -> Shaped:
    """Apply one rule until it finds nothing more, within reason."""
    for _ in range(CLEAN_PASSES_MAX):
        edits = rule(shaped.text, setting)
        if not edits:
            break
        shaped = edit(shaped, edits, f"clean.{name}")
    return shaped
