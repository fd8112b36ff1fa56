"""Discord's inline grammar: tokens, and a walk that records what every position is inside of.

The order is Discord's: at each marker the construct that starts there is matched to its closer,
then its inside is walked.  Quotes count at line starts only, and not in quotes.
"""

from __future__ import annotations

import re
from array import array

from attrs import Factory, define

from minamo.core.fitting.closers import Closers
from minamo.core.fitting.draft import SPOILER, Block, Enclosure, Stacks
from minamo.core.limits import FORMATTING_DEPTH_MAX, LINK_BEGUN_MAX

_TOKEN = re.compile(
    r"<(?:@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::[a-zA-Z])?|/[^\s<>:][^<>:\n]{0,100}:\d+"
    r"|id:[a-z-]+(?::\d+)?|\d+:[a-z-]+(?::\d+)?|[A-Za-z][A-Za-z0-9+.\-]*:/[^\s<>]+)>"
)
_URL = re.compile(r"https?://[^\s<]+[^<.,:;\"')\]\s]")
_LINK = re.compile(
    r"\[[^\[\]\n]+\]\(<?[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*>?"
    r"(?: +(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"
)
_STARTS = re.compile(r"<|\[|https?://")
# Every stage of writing a token, at the end of a text.
_TOKEN_BEGUN = re.compile(r"<(?:[@#:a-z\d][^\s<>]*|/(?:[^\s<>:][^<>:\n]{0,100}(?::\d*)?)?)?\Z")
_LINK_BEGUN = re.compile(
    r"\[[^\[\]\n]{0," + str(LINK_BEGUN_MAX) + r"}(?:\](?:\(\S*(?: +(?:\"[^\"\n]*|'[^'\n]*))?)?)?\Z"
)
_URL_BEGUN = re.compile(r"https?://\S*\Z")
_BEGUN = {"<": _TOKEN_BEGUN, "[": _LINK_BEGUN}
_AT = {"<": _TOKEN, "[": _LINK, "h": _URL}


def token_end(text: str, start: int, end: int) -> int | None:
    """Return the end of the token that begins at *start*, if any; nothing past *end* counts."""
    token = _AT[text[start]].match(text, start, end)
    return token.end() if token else None


def find_tokens(text: str) -> list[tuple[int, int]]:
    """Return the spans of the tokens of *text*, in order."""
    found: list[tuple[int, int]] = []
    at = 0
    while start := _STARTS.search(text, at):
        end = token_end(text, start.start(), len(text))
        at = end or start.start() + 1
        if end is not None:
            found.append((start.start(), end))
    return found


def unfinished_tokens(text: str) -> list[int]:
    """Return the starts of what may become a token with the text after *text*."""
    starts = [text.rfind("<"), text.rfind("[")]
    ink = len(text)
    while ink and not text[ink - 1].isspace():
        ink -= 1
    url = _URL_BEGUN.search(text, ink)
    found = [at for at in starts if at >= 0 and _BEGUN[text[at]].match(text, at)]
    return [*found, url.start()] if url else found


_SPECIAL = re.compile(
    r"\\[^0-9A-Za-z\s]|`|\*|_|~~|\|\||<|\[|¯\\_\(ツ\)_/¯|https?://|\n *(?:>>>|>) "
)
_QUOTE = re.compile(r" *(>>>|>) ")
_QUOTE_LINE = re.compile(r" *> [^\n]*(?:\n|\Z)")
_BLOCK = re.compile(r"```(?:([A-Za-z0-9_+\-.#]{1,32})\n+)?\n*")
_INK = re.compile(r"\S")
_PAIRS = {"**": Enclosure("**", "**"), "__": Enclosure("__", "__")}
_SINGLES = {"*": Enclosure("*", "*"), "_": Enclosure("_", "_")}
_SPOILER = Enclosure(SPOILER, SPOILER)
_STRIKE = Enclosure("~~", "~~")
_EMPHASIS = (*_PAIRS.values(), *_SINGLES.values(), _STRIKE)
_LINE_QUOTE = Enclosure("> ", lines=True)
_BLOCK_QUOTE = Enclosure(">>> ")


@define(slots=True)
class Scope:
    """A stretch of text walked as one: its bounds, its stack, and its context."""

    low: int
    high: int
    stack: int
    depth: int = 0
    quoted: bool = False  # in a quote of either kind; quotes do not nest
    lines: bool = False  # in a quote whose lines are marked one by one
    fresh: bool = True  # starts where a line starts
    tail: bool = True  # what is open at its end is open at the end of the text


@define(slots=True)
class Scan:
    """Findings of a walk.  Spans are (start, end) offsets in the text walked."""

    text: str
    mid_line: bool  # the text continues in the same line after its end
    stacks: Stacks
    inside: array[int]  # for each position, the stack of enclosures it is inside of
    closers: Closers
    openers: dict[int, int] = Factory(dict)  # markers, invisible to readers: end to start
    enders: dict[int, int] = Factory(dict)  # markers that close: start to end
    firm: list[tuple[int, int]] = Factory(list)  # no cut in here
    atoms: list[tuple[int, int]] = Factory(list)  # links, mentions: no cut if avoidable
    code: list[tuple[int, int]] = Factory(list)  # inline code: likewise
    prefixes: dict[int, int] = Factory(dict)  # marks of a quote's further lines: start to end
    blocks: list[Block] = Factory(list)  # code blocks other than fences
    front: int = 0  # openers before this were carried over, and are intended
    open: list[tuple[int, str]] = Factory(list)  # openers that a closer could still be added for
    open_end: int = 0
    unpaired: bool = False  # a marker has no partner, which the text after its end may have
    # Emphasis around a lone spoiler marker: where its text begins, and the marker.
    swallowed: list[tuple[int, int]] = Factory(list)
    split: int = -1  # where one text ends and the next begins
    across: list[tuple[int, str]] = Factory(list)  # openers before `split` that close after it

    def fill(self, start: int, end: int, stack: int) -> None:
        """Put the positions from *start* up to *end* into *stack*."""
        self.inside[start:end] = array("i", [stack]) * (end - start)


def scan(text: str, *, mid_line: bool = False, front: int = 0, split: int = -1) -> Scan:
    """Walk the whole of *text* and return the findings; fences in it must be masked."""
    inside = array("i", [0]) * (len(text) + 1)
    found = Scan(text, mid_line, Stacks(), inside, Closers(text))
    found.front, found.split = front, split
    _walk(found, Scope(0, len(text), 0))
    found.inside[len(text)] = 0
    return found


def _walk(found: Scan, scope: Scope) -> None:
    at = scope.low
    if scope.fresh and not scope.quoted:
        at = _quote(found, scope, at)
    while match := _SPECIAL.search(found.text, at, scope.high):
        start = match.start()
        char = found.text[start]
        if char in "*_":
            at = _emphasis(found, scope, start)
        elif char == "`":
            at = _ticks(found, scope, start)
        elif char == "|":
            close = found.closers.spoiler(start, scope.high)
            at = _enclose(found, scope, start, close, _SPOILER)
        elif char == "~":
            close = found.closers.strike(start, scope.high)
            at = _enclose(found, scope, start, close, _STRIKE)
        elif char == "\n":
            at = _line(found, scope, start + 1)
        else:
            at = _token(found, match, scope.high)


def _line(found: Scan, scope: Scope, start: int) -> int:
    if not scope.quoted:
        return _quote(found, scope, start)
    prefix = _QUOTE.match(found.text, start, scope.high)
    if scope.lines and prefix is not None:
        found.prefixes[start] = prefix.end()
        found.openers[prefix.end()] = start
        found.firm.append((start, _ink(found, prefix.end(), scope.high) + 1))
    return start


def _quote(found: Scan, scope: Scope, start: int) -> int:
    """Walk the quote that begins with the line at *start*, if any; return where to continue."""
    prefix = _QUOTE.match(found.text, start, scope.high)
    if prefix is None:
        return start
    lines = prefix[1] == ">"
    end = start
    while lines and (line := _QUOTE_LINE.match(found.text, end, scope.high)):
        end = line.end()
        if not found.text.startswith("\n", end - 1):
            break
    end = end if lines else scope.high
    complete = lines and end > start and found.text[end - 1] == "\n"
    tail = scope.tail and end == scope.high and not complete and (found.mid_line or not lines)
    if tail:
        found.open.append((start, prefix[0].lstrip()))
    stack = found.stacks.push(scope.stack, _LINE_QUOTE if lines else _BLOCK_QUOTE)
    found.openers[prefix.end()] = start
    found.firm.append((start, _ink(found, prefix.end(), end) + 1))
    found.fill(prefix.end(), end if complete else end + 1, stack)
    inner = end - 1 if complete else end
    _walk(
        found,
        Scope(prefix.end(), inner, stack, scope.depth, True, lines, fresh=False, tail=tail),
    )
    return inner


def _emphasis(found: Scan, scope: Scope, start: int) -> int:
    text, high = found.text, scope.high
    char = text[start]
    marker = char * 2
    pair = found.closers.pair(char, start, high) if text.startswith(marker, start, high) else None
    single = found.closers.single(char, start, high)
    # The longer match wins, italics win a tie.
    if single is not None and (pair is None or single + 1 >= pair + 2):
        return _enclose(found, scope, start, single, _SINGLES[char])
    if pair is not None or text.startswith(marker, start, high):
        return _enclose(found, scope, start, pair, _PAIRS[marker])
    return _enclose(found, scope, start, None, _SINGLES[char])


def _ticks(found: Scan, scope: Scope, start: int) -> int:
    text, high = found.text, scope.high
    if text.startswith("```", start, high):
        close = found.closers.block(start, high)
        if close is not None:
            return _code_block(found, scope, start, close)
    code = found.closers.code(start, high)
    if code is None:
        found.unpaired = True
        while start < high and text[start] == "`":
            start += 1
        return start
    length, close = code
    found.code.append((start, close + length))
    enclosure = Enclosure("`" * length, "`" * length)
    return _enclose(found, scope, start, close, enclosure)


def _code_block(found: Scan, scope: Scope, start: int, tail: int) -> int:
    opener = _BLOCK.match(found.text, start, tail)
    language, body = "", start + 3
    if opener is not None and opener.end() < tail:
        language, body = opener[1] or "", opener.end()
    # In a quote of marked lines a closer on a line of its own would be outside.
    enclosure = Enclosure(f"```{language}\n", "```" if scope.lines else "\n```", verbatim=True)
    found.blocks.append(Block(start, body, tail, tail + 3, enclosure))
    if scope.lines:
        for line in re.finditer(r"\n *> ", found.text[body:tail]):
            found.prefixes[body + line.start() + 1] = body + line.end()
    return tail + 3


def _enclose(found: Scan, scope: Scope, start: int, close: int | None, enclosure: Enclosure) -> int:
    """Record a construct and walk its inside; without a closer record that it is open."""
    size = len(enclosure.opener)
    if close is None:
        found.unpaired = True
        _note_open(found, scope, start, enclosure.opener)
        return start + 1
    low = start + size
    end = close + len(enclosure.closer)
    stack = found.stacks.push(scope.stack, enclosure)
    found.fill(low, close + 1, stack)
    found.openers[low] = start
    found.enders[close] = end
    found.firm.append((start, _ink(found, low, close) + 1))
    blank = found.text[close - 1].isspace()
    ink = low + len(found.text[low:close].rstrip()) if blank else close
    found.firm.append((ink - 1, end))
    if enclosure.opener[0] == "`":
        return end
    if low <= found.split <= close:
        found.across.append((start, enclosure.opener))
    if scope.depth < FORMATTING_DEPTH_MAX:
        fresh = _line_start(found, scope, start)
        inner = Scope(low, close, stack, scope.depth + 1, scope.quoted, scope.lines, fresh, False)
        _walk(found, inner)
    return end


def _token(found: Scan, match: re.Match[str], high: int) -> int:
    start = match.start()
    if match[0][0] in "\\¯":
        found.firm.append(match.span())
        return match.end()
    end = token_end(found.text, start, high)
    if end is None:
        return start + 1
    found.atoms.append((start, end))
    return end


def _ink(found: Scan, low: int, high: int) -> int:
    """Return the first position from *low* on that is not blank."""
    if low < high and not found.text[low].isspace():
        return low
    ink = _INK.search(found.text, low, high)
    return ink.start() if ink else high


def _line_start(found: Scan, scope: Scope, at: int) -> bool:
    while at > scope.low and found.text[at - 1] == " ":
        at -= 1
    return scope.fresh if at == scope.low else found.text[at - 1] == "\n"


def _note_open(found: Scan, scope: Scope, start: int, marker: str) -> None:
    """Record an unclosed opener that is intended: a spoiler, or one that was carried over."""
    end = start + len(marker)
    if marker == SPOILER and scope.stack and found.stacks[scope.stack][-1] in _EMPHASIS:
        found.swallowed.append((scope.low, start))
    if not scope.tail or start < found.open_end or end > scope.high:
        return
    if marker == SPOILER or start < found.front:
        found.open.append((start, marker))
        found.open_end = end
