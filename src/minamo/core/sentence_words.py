"""Words whose full stop is not, or not always, the end of a sentence.

Kept as a tree of characters, so that recognising them costs one dictionary look-up per
character and no memory of the text.  A missed end only makes a message longer; a false
one tears a sentence in two.  So when in doubt these lists lean towards "not an end".
"""

from __future__ import annotations

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
# "at 5 p.m. on Monday" goes on, "at 5 p.m. Then" does not.
_TRAILING = "etc al usw a.m p.m a.k.a inc ltd corp co jr bros seq"
# "No. 5" goes on, "No. I will not." does not.
_COUNTED = """
no nos fig figs vol ch chap p pp art sec eq abb nr núm pág jan feb mar apr jun jul aug sep
sept oct nov dec
"""
_FIRST_LETTER, _LAST_LETTER = 0x41, 0x530  # Latin, Greek and Cyrillic have initials


class Node(dict[str, "Node"]):
    """A place in the tree: what may come next, and what a full stop here means."""

    __slots__ = ("stop",)

    def __init__(self, stop: int = END) -> None:
        super().__init__()
        self.stop = stop


def _add(root: Node, word: str, stop: int) -> None:
    node = root
    for char in word:
        node = node.setdefault(char, Node())
    node.stop = stop


def _add_all(root: Node, words: str, stop: int) -> None:
    for word in words.split():
        _add(root, word, stop)
        _add(root, word[0].upper() + word[1:], stop)


def _tree(*, at_line_start: bool) -> Node:
    root = Node()
    letters = [chr(code) for code in range(_FIRST_LETTER, _LAST_LETTER)]
    # "J. K. Rowling", "J.K.", "U.S.A.": after an initial's full stop comes another one.
    initials = Node()
    for char in filter(str.isupper, letters):
        initials[char] = Node(NEVER)
        initials[char]["."] = initials
        root[char] = Node(NEVER)
        root[char]["."] = initials
    if not at_line_start:
        root["I"].stop = END  # far more often a word, "so do I.", than an initial
    for char in filter(str.islower, letters):
        # "solve for x. Then" and "n. d."; at a line's start "a." counts a list.
        root[char] = Node(NEVER if at_line_start else IF_CAPITAL)
    _add_all(root, _INSIDE, NEVER)
    _add_all(root, _TRAILING, IF_CAPITAL)
    _add_all(root, _COUNTED, UNLESS_NUMBER)
    for word in _TITLES.split():
        _add(root, word, NEVER)
    root["z"].stop = NEVER  # "z. B."
    if at_line_start:
        # "2. Stir." begins a list item; elsewhere "I have 2. You have 3." ends sentences.
        number = Node(NEVER)
        for digit in "0123456789":
            root[digit] = number[digit] = number
    return root


WORD = _tree(at_line_start=False)  # where a word begins
LINE = _tree(at_line_start=True)  # where a line begins
OTHER = Node()  # inside a word that is on no list
