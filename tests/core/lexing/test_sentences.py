import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.lexing.sentences import SentenceEnds, find_ends


def cut(marked: str) -> tuple[str, list[int]]:
    """Read "a.¦ b" as the text "a. b" with an end at 2."""
    parts = marked.split("¦")
    ends, at = [], 0
    for part in parts[:-1]:
        at += len(part)
        ends.append(at)
    return "".join(parts), ends


@pytest.mark.parametrize(
    "marked",
    [
        "Hello.¦ World",
        "Hello.¦\nWorld",
        "Hello!¦ World?¦ Yes",
        "No end yet.",
        "No end yet!",
        "Really?!¦ Yes!!!¦ x",
        'He said "Hi."¦ Then',
        "(Hello.)¦ Then",
        "**Hello.**¦ Then",
        "||Hello.||¦ Then",
        "“Hi!”¦ «Oh.»¦ x",
        "Hi!😀¦ Then",
        "Hi!👩‍👧❤️¦ Then",
        "Hi!😀Then",
        "a mark.inside a word",
        "https://x.com/a?b=c.d and",
        "3.14 and v1.2.3 and",
        "I have 2.¦ You have 3.¦ x",
        "2. Stir.¦ x",
        "> 2. Stir.¦ x",
        "  12. Stir.¦ x",
        "a\n2. Stir.¦ x",
        "a. First.¦ x",
        "I. First.¦ x",
        "so do I.¦ Then",
        "J. K. Rowling.¦ x",
        "J.K. Rowling.¦ x",
        "U.S.A. today.¦ x",
        "А. С. Пушкин.¦ x",
        "Mr. Smith and Mrs. Jones.¦ x",
        "(Dr. Who)",
        "he met—Mr. Smith",
        "took 5 ms.¦ Then",
        "e.g. this, i.e. That.¦ x",
        "E.g. This.¦ x",
        "z.B. Das, z. B. Das.¦ x",
        "Sra. Lopez.¦ x",
        "M. Dupont et Mme. Dupont.¦ x",
        "apples etc. and more.¦ x",
        "apples etc.¦ Then",
        "apples etc.¦ **Then**",
        "apples etc.¦ \n then",
        "apples etc.¦\nthen",
        "apples (etc.) and",
        "apples (etc.).¦ and",
        "apples etc...¦ Then",
        "at 5 p.m. on Monday",
        "at 5 p.m.¦ Then",
        "solve for x.¦ Then",
        "No. 5 is alive",
        "No.¦ I will not.¦ x",
        "I won't.¦ I can’t.¦ x",
        "'x. y",
        "Wait... what",
        "Wait...¦ What",
        "Wait…¦ What",
        "Wait… what",
        "Wait...¦ 5",
        "Wait....¦ What",
        "What?...¦ what",
        "What...?¦ what",
        "Oh.…¦ What",
        "Mr... what",
        "Wait...¦ ¿Qué",
        "Wait...¦ ?¦ x",
        "はい。¦いいえ！¦次？",
        "「はい。」¦と。¦次",
        "次。¦**太字**",
        "**太字。**¦次",
        "* 項目。¦**太字**",
        '"次。"¦次',
        "次。¦ 次",
        "次。😀¦次",
        "次！？¦次",
        "次。!¦次",
        "次。.¦次",
        "３．１４です。¦次",
        "．¦次",
        "… and so",
        "a .¦ b",
        "e\u0301tc.¦ then",
    ],
)
def test_ends(marked):
    text, ends = cut(marked)
    assert find_ends(text) == ends


def test_an_end_is_reported_as_soon_as_it_is_known():
    ends = SentenceEnds()
    assert [ends.feed(char) for char in 'Hi." x'] == [0, 0, 0, 0, 4, 0]
    assert ends.at == 6
    assert [SentenceEnds().feed(char) for char in "。x"] == [0, 0]
    ends = SentenceEnds()
    assert [ends.feed(char) for char in "あ。い"] == [0, 0, 2]
    ends = SentenceEnds()
    assert [ends.feed(char) for char in "a...  ( B"] == [0, 0, 0, 0, 0, 0, 0, 0, 4]


ATOMS = [
    "a", "A", "I", "1", " ", "\n", ".", "...", "!", "?", "…", "。", "．", '"', "'", ")",
    "(", "*", "**", "_", "|", "Mr", "etc", "p.m", "No", "e.g", "🙂", "👩\u200d👧",
    "\u200b", "\u2028", "」", "\ud800",
]  # fmt: skip
RUNS = [1, 1, 1, 1, 2, 3, 64, 65]
texts = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS)), max_size=12).map(
    lambda pairs: "".join(atom * count for atom, count in pairs)
)


@given(texts, st.text(max_size=3))
def test_ends_are_ordered_and_never_depend_on_what_follows(text, more):
    ends = find_ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end < len(text) for end in ends)
    # A mark or a closer of a mark stands before every end.
    assert all(not text[end - 1].isspace() for end in ends)
    assert find_ends(text + more)[: len(ends)] == ends


@given(texts)
def test_a_newline_forgets_everything(text):
    whole = text + "\n"
    before = find_ends(whole)
    assert find_ends(whole + "Hi. There. ") == [*before, len(whole) + 3, len(whole) + 10]


@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.no_cover  # measuring would be most of its time
def test_long_runs_take_linear_time(atom):
    started = time.process_time()
    find_ends(atom * (30_000 // len(atom)))
    assert time.process_time() - started < 2
