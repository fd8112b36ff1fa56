"""Sentence ends, found one character at a time.

A fold that keeps a few numbers and a position in a word tree, never the text.  An end is
reported when it is *known*: for "." "!" "?" by the whitespace after it, for full-width
marks by the first character that does not belong to them, and in doubtful cases ("etc.",
"...") by the next word.
"""

from __future__ import annotations

from minamo.core.cleaning.characters import emoji_like

# What a full stop after a word means.
END = 0  # the end, if whitespace follows
NEVER = 1  # part of the word
IF_CAPITAL = 2  # the end if a capital letter comes next
UNLESS_NUMBER = 3  # the end unless a number comes next

# As written only: "Ms." is a title, "5 ms." a duration.
_TITLES = """
Mr Mrs Ms Mx Dr Prof Rev Hon Gen Col Capt Lt Sgt Gov Sen Rep Pres St Mt Ft Sr Sra Srta Dra
Mme Mlle Mmes Fr Hr Ing Dipl Nr Str Ph.D M.Sc B.Sc
"""
# In lower case, or with a capital where a sentence begins.
_INSIDE = """
vs e.g i.e cf approx resp incl excl viz ibid z.B d.h u.a bzw ca vgl ggf evtl sog ej p.ej ex
"""
# "at 5 p.m. on Monday" continues, "at 5 p.m. Then" does not.
_TRAILING = "etc al usw a.m p.m a.k.a inc ltd corp co jr bros seq"
# "No. 5" continues, "No. I will not." does not.
_COUNTED = """
no nos fig figs vol ch chap p pp art sec eq abb nr núm pág jan feb mar apr jun jul aug sep
sept oct nov dec
"""
_FIRST_LETTER, _LAST_LETTER = 0x41, 0x530  # Latin, Greek and Cyrillic have initials


class TrieNode(dict[str, "TrieNode"]):
    """A position in the word tree: its successors, and the meaning of a full stop here."""

    __slots__ = ("stop",)

    def __init__(self, stop: int = END) -> None:
        super().__init__()
        self.stop: int = stop


def _add(root: TrieNode, word: str, stop: int) -> None:
    node = root
    for char in word:
        node = node.setdefault(char, TrieNode())
    node.stop = stop


def _add_all(root: TrieNode, words: str, stop: int) -> None:
    for word in words.split():
        _add(root, word, stop)
        _add(root, word[0].upper() + word[1:], stop)


def _tree(*, at_line_start: bool) -> TrieNode:
    root = TrieNode()
    letters = [chr(code) for code in range(_FIRST_LETTER, _LAST_LETTER)]
    # "J. K. Rowling", "J.K.", "U.S.A.": after an initial's full stop comes another one.
    initials = TrieNode()
    for char in filter(str.isupper, letters):
        initials[char] = TrieNode(NEVER)
        initials[char]["."] = initials
        root[char] = TrieNode(NEVER)
        root[char]["."] = initials
    if not at_line_start:
        root["I"].stop = END  # far more often a word, "so do I.", than an initial
    for char in filter(str.islower, letters):
        # "solve for x. Then" and "n. d."; at a line's start "a." counts a list.
        root[char] = TrieNode(NEVER if at_line_start else IF_CAPITAL)
    _add_all(root, _INSIDE, NEVER)
    _add_all(root, _TRAILING, IF_CAPITAL)
    _add_all(root, _COUNTED, UNLESS_NUMBER)
    for word in _TITLES.split():
        _add(root, word, NEVER)
    root["z"].stop = NEVER  # "z. B."
    if at_line_start:
        # "2. Stir." begins a list item; elsewhere "I have 2. You have 3." ends sentences.
        number = TrieNode(NEVER)
        for digit in "0123456789":
            root[digit] = number[digit] = number
    return root


WORD = _tree(at_line_start=False)  # where a word begins
LINE = _tree(at_line_start=True)  # where a line begins
OTHER = TrieNode()  # inside a word that is on no list


# More meanings a mark can have, next to those of a full stop after a word.
_LOUD = 4  # "!" or "?": the end, if whitespace follows
_DOTS = 5  # "..." or "…": the end unless a small letter comes next
_WIDE = 6  # "。": the end in any case

_LOUD_MARKS = frozenset("!?")
_WIDE_MARKS = frozenset("。！？．｡")
# Each of these closes itself, so after a full-width mark, where no blank separates closer from
# opener, it belongs to the sentence only if it is open.
_PAIRED = frozenset('"*_~|')
_CLOSERS = frozenset("')]}”’»」』》】") | _PAIRED
_OPENERS = frozenset("'([{“‘«「『《【¿¡") | _PAIRED
_BEFORE_WORD = _OPENERS | frozenset("—–")
_KEEP_LINE_START = frozenset(">*_#")  # "> 2. Stir." is a list item in a quotation

_TEXT, _MARKED, _GAP = range(3)


class SentenceEnds:
    """Fold that reports each sentence end as soon as it is certain."""

    __slots__ = ("_at", "_bare", "_end", "_kind", "_mark", "_node", "_open", "_pair", "_pair_at",
                 "_phase")  # fmt: skip

    def __init__(self) -> None:
        self._at = 0
        self._phase = _TEXT
        self._node = LINE
        self._end = 0  # in a mark or after it: where the sentence would end
        self._kind = END  # what the mark means
        self._mark = ""  # its last character
        self._bare = True  # no closer has come after the mark
        self._open: frozenset[str] = frozenset()  # paired marks open on this line
        self._pair = ""  # the last paired mark...
        self._pair_at = 0  # ...and its position

    @property
    def at(self) -> int:
        """Number of characters fed."""
        return self._at

    def feed(self, char: str) -> int:
        """Process one character; return where a sentence is now known to have ended, or 0.

        The offset counts from the first character fed and lies just after the mark and its
        closers, so usually a little before *char*.
        """
        self._at += 1
        if self._phase == _TEXT:
            # Nearly every character is handled here.
            if char.isalnum():
                self._node = self._node.get(char, OTHER)
            else:
                self._text(char)
            return 0
        return self._marked(char) if self._phase == _MARKED else self._gap(char)

    def feed_word(self, word: str) -> int:
        """Process letters and digits at once; only the first can show that a sentence has ended."""
        end = self.feed(word[0])
        self._at += len(word) - 1
        node = self._node
        for char in word[1:]:
            if node is OTHER:
                break  # the word is on no list, however it continues
            node = node.get(char, OTHER)
        self._node = node
        return end

    def _text(self, char: str) -> None:
        """Process a character that is neither in nor after a mark."""
        if char.isspace():
            self._white(char)
        elif char == ".":
            self._begin(char, self._node.stop)
            self._node = self._node.get(".", OTHER)
        elif char in _LOUD_MARKS:
            self._begin(char, _LOUD)
        elif char == "…":
            self._begin(char, _DOTS)
        elif char in _WIDE_MARKS:
            self._begin(char, _WIDE)
        elif char.isalnum():
            self._node = self._node.get(char, OTHER)
        else:
            self._other(char)

    def _other(self, char: str) -> None:
        """Process a character that is no part of a word, a mark or a blank."""
        if char in _PAIRED:
            self._toggle(char)
        if self._node is LINE and char in _KEEP_LINE_START:
            return
        # In "won't." the "t" is no word of its own.
        inside = char == "'" and self._node is not WORD and self._node is not LINE
        self._node = WORD if char in _BEFORE_WORD and not inside else OTHER

    def _begin(self, char: str, kind: int) -> None:
        self._phase = _MARKED
        self._kind = kind
        self._mark = char
        self._end = self._at
        self._bare = True

    def _marked(self, char: str) -> int:
        """Process a character after a mark and only marks, closers and emoji."""
        if char.isspace():
            return self._after_mark(char)
        if char == "." or char == "…" or char in _LOUD_MARKS or char in _WIDE_MARKS:
            self._join(char)
        elif self._closes(char) or emoji_like(char):
            self._end = self._at
            self._bare = False
        else:
            return self._continue(char)
        return 0

    def _after_mark(self, char: str) -> int:
        """Process the whitespace that follows a mark."""
        kind = self._kind
        self._phase = _TEXT
        self._white(char)
        if kind == NEVER:
            return 0
        if char == "\n" or kind in (END, _LOUD, _WIDE):
            return self._end
        self._phase = _GAP
        return 0

    def _join(self, char: str) -> None:
        """Process one more mark: "?!", "...", or the full stop in "etc.)."."""
        if char in _WIDE_MARKS:
            self._kind = _WIDE
        elif char in _LOUD_MARKS:
            self._kind = _WIDE if self._kind == _WIDE else _LOUD
        elif self._kind not in (_LOUD, _WIDE):
            self._kind = _DOTS if self._bare or char == "…" else END
        self._mark = char
        self._end = self._at
        self._bare = True

    def _closes(self, char: str) -> bool:
        if char not in _CLOSERS:
            return False
        if char not in _PAIRED:
            return True
        running = self._pair == char and self._pair_at == self._at - 1
        if self._kind == _WIDE and not running and char not in self._open:
            return False
        self._toggle(char)
        return True

    def _continue(self, char: str) -> int:
        """Process a character which shows that text continues right after the mark."""
        # The full-width full stop is also the decimal point of full-width digits.
        ended = self._kind == _WIDE and not (self._mark == "．" and char.isdigit())
        if ended or not self._bare or self._mark != ".":
            self._node = WORD
        self._phase = _TEXT
        self._text(char)
        return self._end if ended else 0

    def _gap(self, char: str) -> int:
        """Process a character after a doubtful mark and whitespace."""
        if char.isspace():
            self._white(char)
            if char != "\n":
                return 0
            self._phase = _TEXT
            return self._end
        if char in _OPENERS:
            if char in _PAIRED:
                self._toggle(char)
            return 0
        kind, end = self._kind, self._end
        self._phase = _TEXT
        self._node = WORD
        self._text(char)
        ended = (
            (kind == _DOTS and not char.islower())
            or (kind == IF_CAPITAL and (char.isupper() or char.istitle()))
            or (kind == UNLESS_NUMBER and not char.isdigit())
        )
        return end if ended else 0

    def _white(self, char: str) -> None:
        if char == "\n":
            self._node = LINE
            self._open = frozenset()
            return
        if self._node is not LINE:
            self._node = WORD
        # A mark that a blank follows was no opener but a bullet or a lone sign.
        if self._pair_at == self._at - 1:
            self._open -= {self._pair}

    def _toggle(self, char: str) -> None:
        """Open or close a paired mark; a run such as "**" counts once."""
        if self._pair != char or self._pair_at != self._at - 1:
            self._open ^= {char}
        self._pair = char
        self._pair_at = self._at


def find_ends(text: str) -> list[int]:
    """Return the offsets of all sentence ends that are known within *text*."""
    feed = SentenceEnds().feed
    return [end for end in map(feed, text) if end]
