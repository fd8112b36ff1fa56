"""Where segments may end, and what holds a cut back."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.lexing.boundaries import NOTABLE, Boundaries, OpenConstructs
from minamo.core.lexing.lexer import OUTSIDE, ListLines
from minamo.core.lexing.sentences import SentenceEnds, find_ends
from minamo.machine import Machine, compile, read
from support.audit import audit, run


def held(text: str) -> OpenConstructs:
    holds = OpenConstructs()
    for char in text:
        (holds.feed if char in NOTABLE else holds.skip)(char)
    return holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a (b", True), ("a (b)", False), ("a ((b)", True), ("a :(", False), ("a)", False),
        ("[a", True), ("[a]", False), ("“a", True), ("“a”", False), ("「a", True), ("a」", False),
        ('say "a', True), ('say "a"', False), ('5\' 10"', False), ('(a)"', False), ('a "b" "c', True),
        ("**a", True), ("**a**", False), ("** a", False), ("***a", True), ("***a***", False),
        ("*a", True), ("a*b", False), ("*a *", True), ("*a* ", False), ("_a", True), ("a_b ", False),
        ("__a", True), ("__a __ ", False), ("~~a", True), ("~~a~~ ", False), ("~a", False),
        ("||a", True), ("||a ||", False), ("|a", False), ("\\*\\*a", False), ("\\(a", False),
        ("`(**", False), ("`(` (", True), ("``(` ``", False), ("`(\n", False), ("`a\n(", True),
        ("\\\n(", True), ("\\a(", True), ("**a **", False), ("a**b", True), ("a__b", True),
    ],
)  # fmt: skip
def test_what_is_open_holds(text: str, holds: bool) -> None:
    found = held(text)
    found.finish()
    assert found.open is holds


@pytest.mark.parametrize(
    ("text", "carries"),
    [
        ("> a", True), ("> a\n", False), (">>> a\n\nb", True), ("  > a", True), (">a", False),
        (">> a", False), ("a > b", False), (" " * 20 + "> a", False), (">>> a\n> b\nc", True),
        ("**a", True), ("a", False),
    ],
)  # fmt: skip
def test_what_a_message_would_have_to_reopen(text: str, carries: bool) -> None:
    found = held(text)
    found.finish()
    assert found.carries is carries


def test_what_was_cut_through_holds_no_more_but_still_closes() -> None:
    found = held('(a "b **c')
    found.give_up(0)
    assert not found.open
    assert found.carries
    for char in "d** ":
        (found.feed if char in NOTABLE else found.skip)(char)
    assert not found.carries
    assert not found.open


def cuts(text: str, degree: int) -> list[str]:
    boundaries = Boundaries(degree)
    places = [place for char in text if (place := boundaries.feed(char))]
    last = boundaries.finish()
    places += [last] if last else []
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def test_tables_stay_together_and_end_with_their_last_row() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert cuts(f"x\n{table}y\nz", 2) == ["x\n", table, "y\n", "z"]
    assert cuts(f"{table}\ny", 2) == [f"{table}\n", "y"]
    assert cuts(f"{table}\ny", 1) == [f"{table}\n", "y"]
    assert cuts(f"{table}y\n\nz", 1) == [f"{table}y\n\n", "z"]
    assert cuts(f"{table}y", 2) == [table, "y"]
    assert cuts(table, 2) == [table]
    assert cuts("a | b\n1 |", 2) == ["a | b\n1 |"]


def test_a_cut_by_force_forgets_what_lies_before_it() -> None:
    boundaries = Boundaries(2)
    for char in "a\n| b |\nc":
        boundaries.feed(char)
    boundaries.forced(3, "| b |\nc")
    assert boundaries.finish() == 8
    boundaries.forced(8, "c")
    assert boundaries.finish() == 0
    boundaries.forced(9, " .")
    assert boundaries.settle() == 0


def test_a_table_row_longer_than_the_limit_is_no_problem() -> None:
    text = "| a | b |\n|---|---|\n" + "| " + "x" * 3_000 + " | y |\n"
    done = run([text], degree=2)
    audit(done, text)


def test_a_run_of_backticks_without_end() -> None:
    text = "a " + "`" * 3_000 + " b <think>c</think>"
    done = run([text])
    audit(done, text)
    assert done.thoughts == ("c",)
    assert run(list(text)).messages == done.messages


def test_a_guard_holds_across_the_end_and_a_reclaimed_thought() -> None:
    done = run(["plan\nBo</think>Hello\nBo"], speaker_names=["Bob"])
    assert done.thoughts == ("plan\nBo",)
    assert done.messages == ("Hello\nBo",)


def test_a_prefill_is_discarded_when_the_guard_holds_it() -> None:
    done = run(["We"], prefill="Well\n", speaker_names=["Bob"], ending="kill")
    assert done.result.suppressed == {"killed": 2}
    done = run(["B"], prefill="Well\n", speaker_names=["Bob"], ending="kill")
    assert done.result.suppressed == {"killed": 1}


def test_a_link_that_ends_before_the_limit_is_no_reason_to_cut_in_front_of_it() -> None:
    text = "<@12345678901234567>" + "x" * 1_400
    done = run([text])
    audit(done, text)
    assert len(done.messages[0]) == 1_000


def test_a_path_collapses_what_leads_to_itself() -> None:
    text = "name: s\nevents: {go: g}\nstates:\n  a: {transitions: [{event: go, target: a}]}\n"
    machine = Machine(compile(read(text, "s.yaml"), type("None_", (), {})), None, path=[])
    machine.send("go")
    assert machine.path == ["a"]


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
        "Hi!🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f¦ Then",
        "Hi!♥¦ Then",
        "Hi!€ Then",
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
        "Oh.… what",
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


@pytest.mark.parametrize(
    ("text", "room"),
    [("Text more\n- item\n", 5), ("Text\n1. item\nmore", OUTSIDE), ("- a\n\n  b\n", 5)],
)
def test_the_indent_of_a_fence_in_a_list_does_not_depend_on_the_pieces(
    text: str, room: int
) -> None:
    for at in range(len(text) + 1):
        lines = ListLines()
        lines.add(text[:at])
        lines.add(text[at:])
        assert lines.room == room, at
