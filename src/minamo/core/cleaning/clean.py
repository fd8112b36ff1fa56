"""Cleaning rules and their order: each rule returns edits and changes nothing itself.

Every rule but `invisible` leaves code alone, and none may delete prose; a doubtful case
is left as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from attrs import frozen

from minamo.core.accounting.spans import Edit, Rewritten, edit, unchanged
from minamo.core.cleaning.characters import all_visible, remove_invisible
from minamo.core.cleaning.code_spans import Spans, code_spans, empty_fence
from minamo.core.cleaning.links import masked_links
from minamo.core.lexing.intake import RULE as LINE_END
from minamo.core.limits import CLEAN_PASSES_MAX, SYSTEM_LEAK_MAX

# Role words that a chat template puts right after its opening mark.
_ROLE = (
    r"(?:(?:system|developer|user|assistant|model|tool|ipython|analysis|commentary|final)"
    r"(?=\n|<\||\Z))?"
)
_TEMPLATE = re.compile(
    r"(?:<\|(?:im_start|start_header_id|start|channel)\|>" + _ROLE + r"|<start_of_turn>" + _ROLE +
    r"|<\|(?:im_end|im_sep|end_header_id|eot_id|eom_id|endoftext|begin_of_text|end_of_text"
    r"|message|return|call|constrain|end|system|user|assistant|tool|python_tag|endofprompt)\|>"
    r"|<end_of_turn>|<｜(?:begin▁of▁sentence|end▁of▁sentence|User|Assistant)｜>"
    r"|\[/?INST\](?!\()|<</?SYS>>)+"
)  # fmt: skip
_SYSTEM = re.compile(r"\[[ \t]*system[ \t]*:", re.IGNORECASE)
_BRACKET = re.compile(r"\\[^\w\s]|[\[\]]")
# The emphasis around a label must close, or it belongs to the text.  Not before "/" or ":":
# a bot called "http" or "std" may still write addresses.
_LABELS = (
    r"\s*((?:(?P<mark>[*_]{0,3})%s(?:(?P=mark)[ \t]*[:：]|[ \t]*[:：](?P=mark))(?![:/])"
    r"[ \t]*\n?)+)"
)
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n(?:[^\S\n]*\n)+")
URL = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
# A handle after one of these belongs to an address, a mention or an escape.
_NOT_BEFORE_HANDLE = frozenset("<\\_")


@frozen(slots=True)
class Setting:
    """Inputs of the rules besides the text."""

    bot_name: str
    mentions: Mapping[str, str]
    first: bool
    fence: str
    keep_zero_width_space: bool
    torn: bool = False
    mid_line: bool = False

    def code(self, text: str) -> Spans:
        """Return the code ranges of *text*."""
        return code_spans(text, fence=self.fence, mid_line=self.mid_line)


def invisible(text: str, setting: Setting) -> list[Edit]:
    """Return edits that remove invisible characters; in code too, where they can hide a program."""
    return remove_invisible(text, keep_zero_width_space=setting.keep_zero_width_space)


def template(text: str, setting: Setting) -> list[Edit]:
    """Return edits that remove the marks of a chat template."""
    found = [match.span() for match in _TEMPLATE.finditer(text)] + _sequence_marks(text, setting)
    if not found:
        return []
    code = setting.code(text)
    return [_line(text, a, b) for a, b in found if not code.touches(a, b)]


def _sequence_marks(text: str, setting: Setting) -> list[tuple[int, int]]:
    """Return the spans of `<s>` as the reply's first word and `</s>` as a text's last.

    Only when alone: a pair of them is strike-through.
    """
    out: list[tuple[int, int]] = []
    opens, closes = text.find("<s>"), text.rfind("</s>")
    if opens >= 0 and closes >= 0:
        return out
    if setting.first and opens >= 0 and _only_debris(text[:opens]):
        out.append((opens, opens + len("<s>")))
    if closes >= 0 and _only_debris(text[closes + len("</s>") :]):
        out.append((closes, closes + len("</s>")))
    return out


def _only_debris(text: str) -> bool:
    return not _TEMPLATE.sub("", text).strip()


def _line(text: str, start: int, end: int) -> Edit:
    """Return an edit that drops ``start:end``, and the line end if nothing else is on the line."""
    alone = start == 0 or text[start - 1] == "\n"
    return Edit(start, end + (alone and text.startswith("\n", end)))


def system_leak(text: str, setting: Setting) -> list[Edit]:
    """Return edits that remove `[system: …]`, but only with its closing bracket."""
    if _SYSTEM.search(text) is None:
        return []
    code = setting.code(text)
    out: list[Edit] = []
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        at = match.start()
        if code.touches(at, at + 1):
            continue
        if match[0] == "[":
            opened.append(at)
        elif match[0] == "]" and opened:
            start, end = opened.pop(), at + 1
            # A leak inside a leak is removed with the outer one, so inner edits are discarded.
            if _SYSTEM.match(text, start) and _is_leak(text, start, end, code):
                while out and out[-1].start > start:
                    out.pop()
                out.append(_line(text, start, end))
    return out


def _is_leak(text: str, start: int, end: int, code: Spans) -> bool:
    short = end - start <= SYSTEM_LEAK_MAX
    return short and not text.startswith("(", end) and not code.touches(start, end)


def own_name(text: str, setting: Setting) -> list[Edit]:
    """Return the edit that removes the bot's own name, `Name: …`, from the reply's beginning."""
    name = setting.bot_name.strip()
    if not (setting.first and name):
        return []
    match = re.compile(_LABELS % re.escape(name), re.IGNORECASE).match(text)
    if match is None or setting.code(text).touches(*match.span(1)):
        return []
    return [Edit(*match.span(1))]


def blank_lines(text: str, setting: Setting) -> list[Edit]:
    """Return edits that reduce several empty lines to one."""
    found = [match.span() for match in _BLANK_LINES.finditer(text)]
    if not found:
        return []
    code = setting.code(text)
    return [Edit(a + 1, b - 1) for a, b in found if not code.touches(a + 1, b - 1)]


def masked_link(text: str, setting: Setting) -> list[Edit]:
    """Return edits that show the target of every masked link."""
    return masked_links(text, setting.code(text)) if "](" in text else []


def fence(text: str, setting: Setting) -> list[Edit]:
    """Return the edit that removes a fence which is still empty when the reply ends."""
    if setting.torn:
        return []
    start = empty_fence(text, fence=setting.fence, mid_line=setting.mid_line)
    return [Edit(start, len(text))] if start >= 0 else []


def mention(text: str, setting: Setting) -> list[Edit]:
    """Return edits that turn `@name` into a mention, for the given names only."""
    if not setting.mentions or "@" not in text:
        return []
    hidden = setting.code(text).plus(match.span() for match in URL.finditer(text))
    # Looked up by length instead of one large pattern: a server may have thousands of names.
    lengths = sorted({len(name) for name in setting.mentions if name}, reverse=True)
    initials = re.escape("".join(sorted({name[0] for name in setting.mentions if name})))
    out: list[Edit] = []
    end = 0
    for match in re.finditer(f"@(?=[{initials}])", text) if initials else ():
        at = match.start()
        if at < end:
            continue  # a name that has an "@"
        end = _handle_end(text, at, lengths, setting.mentions)
        if end > at and not hidden.touches(at, end):
            out.append(Edit(at, end, f"<@{setting.mentions[text[at + 1 : end]]}>"))
    return out


def _handle_end(text: str, at: int, lengths: list[int], names: Mapping[str, str]) -> int:
    """Return the end of the longest known name after the "@" at *at*, or -1."""
    if at and (text[at - 1].isalnum() or text[at - 1] in _NOT_BEFORE_HANDLE):
        return -1
    for length in lengths:
        end = at + 1 + length
        known = end <= len(text) and text[at + 1 : end] in names
        if known and not (text[end : end + 1].isalnum() or text.startswith("_", end)):
            return end
    return -1


_Rule = Callable[[str, Setting], list[Edit]]

# The order is part of the contract.  Invisible characters first, so that they cannot defeat
# another rule; debris before the name label that may follow it; blank lines after every rule
# that can empty a line; links before mentions, so that no mention is put into an address.
_ORDER: tuple[tuple[str, _Rule], ...] = (
    ("invisible", invisible),
    ("template", template),
    ("system_leak", system_leak),
    ("own_name", own_name),
    ("blank_lines", blank_lines),
    ("masked_link", masked_link),
    ("mention", mention),
    ("fence", fence),
)

#: Line ends are normalised when a chunk comes in, before anything is read.
RULES: tuple[str, ...] = (*(name for name, _ in _ORDER), LINE_END)

# Every rule but `invisible` and `own_name` needs one of these to find anything.
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
    mid_line: bool = False,
    uncensor_unicode_space: bool = False,
) -> Rewritten:
    """Apply the rules to one segment.

    Args:
        text: The segment; it may hold code, which only `invisible` touches.
        off: Names of rules to leave out, see `RULES`.
        bot_name: Removed from the beginning of the reply if it is a label there.
        mentions: Ids by name, the name without its "@".
        first: Whether the segment begins the reply.
        fence: The run that opened the fence in which the segment begins, if it does.
        torn: Whether the next segment continues a construct that this one ends in.
        mid_line: Whether the segment continues a line, so that its beginning opens no fence.
        uncensor_unicode_space: Keep U+200B, which the model put into words on purpose.

    Raises:
        ValueError: *off* holds the name of no rule.
    """
    if off and (unknown := sorted(off.difference(RULES))):
        raise ValueError(f"no such rule: {', '.join(unknown)}; there are {', '.join(RULES)}")
    nothing_named = not (first and bot_name)
    # Most segments: no rule can find anything in them.
    if nothing_named and _SUSPECT.search(text) is None and (text.isascii() or all_visible(text)):
        return unchanged(text)
    setting = Setting(
        bot_name=bot_name,
        mentions=mentions,
        first=first,
        fence=fence,
        torn=torn,
        mid_line=mid_line,
        keep_zero_width_space=uncensor_unicode_space,
    )
    shaped = unchanged(text)
    for name, rule in _ORDER:
        if name not in off:
            shaped = _settled(shaped, name, rule, setting)
    return shaped


def _settled(shaped: Rewritten, name: str, rule: _Rule, setting: Setting) -> Rewritten:
    """Apply one rule until it finds nothing more, at most `CLEAN_PASSES_MAX` times."""
    for _ in range(CLEAN_PASSES_MAX):
        edits = rule(shaped.text, setting)
        if not edits:
            break
        shaped = edit(shaped, edits, f"clean.{name}")
    return shaped
