import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.lexing.speaker_guard import SpeakerGuard
from minamo.core.limits import GENERIC_LABEL_MAX, GUARD_HOLD_MIN

NAMES = ["Bob", "Mary", "Mary Ann", "_x_", "Straße", "A:B", "  ", "a\nb", "***"]


def said(text: str, names=NAMES, **options) -> tuple[str, bool, int]:
    guard = SpeakerGuard(names, **options)
    shown = guard.feed(text) + guard.release()
    assert text.startswith(shown)
    assert len(shown) + guard.swallowed == len(text)
    return shown, guard.tripped, guard.swallowed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hi\nBob: hello", "Hi"),
        ("Hi\nBOB: hello", "Hi"),
        ("Hi\n\n \n  bob : hello", "Hi"),
        ("Hi \nBob:", "Hi "),
        ("Hi\n**Bob:** hello", "Hi"),
        ("Hi\n**Bob**: hello", "Hi"),
        ("Hi\n*Bob* : hello", "Hi"),
        ("Hi\nBob：hello", "Hi"),
        ("Hi\nMary: x", "Hi"),
        ("Hi\nMary : x", "Hi"),
        ("Hi\nMary Ann: x", "Hi"),
        ("Hi\nMary  : x", "Hi"),
        ("Hi\n_x_: y", "Hi"),
        ("Hi\nx: y", "Hi"),
        ("Hi\nSTRASSE: y", "Hi"),
        ("Hi\nA:B: y", "Hi"),
        ("Hi\nNote: x\nBob: y", "Hi\nNote: x"),
        ("Hi\nBo\nBob: y", "Hi\nBo"),
        ("a" * 5000 + "\nBob: y", "a" * 5000),
        ("Hi" + "\n" * 10 + "Bob: y", "Hi"),
    ],
)
def test_a_label_ends_the_reply(text, shown):
    assert said(text) == (shown, True, len(text) - len(shown))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Bob: first line",
        "Hi Bob: not at a line's start",
        "Hi\nBobby: x",
        "Hi\nBo: x",
        "Hi\nBob says: x",
        "Hi\n- Bob: 5 points",
        "Hi\n* Bob: 5 points",
        "Hi\n> Bob: quoted",
        "Hi\nMary Anne: x",
        "Hi\nMary A: x",
        "Hi\nNote: x",
        "Hi\nA: x",
        "Hi\n: x",
        "Hi\n**: x",
        "Hi\nBob",
        "Hi\n",
        "Hi\n" + " " * 100 + "Bob: x",
        "\n" * 100,
    ],
)
def test_prose_passes(text):
    assert said(text) == (text, False, 0)
    assert said(text, names=[]) == (text, False, 0)


def test_the_first_line_can_be_checked():
    assert said("Bob: hi", first_line=True) == ("", True, 7)
    assert said("Note: hi\nBob: x", first_line=True) == ("Note: hi", True, 7)
    assert said("  **Bob**: hi", first_line=True) == ("", True, 13)
    assert said("Bo", first_line=True) == ("Bo", False, 0)


def test_on_the_first_line_only_names_count():
    assert said("Note: hi\nNote: x", generic=True, first_line=True) == ("Note: hi", True, 8)
    assert said("Bob: hi", generic=True, first_line=True) == ("", True, 7)
    assert said("Note: hi", names=[], generic=True, first_line=True) == ("Note: hi", False, 0)
    assert said("\nNote: hi", generic=True, first_line=True) == ("", True, 9)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hi\nNote: x", "Hi"),
        ("Hi\n  Some One : x", "Hi"),
        ("Hi\n" + "a" * 64 + ": x", "Hi"),
        ("Hi\n_: x", "Hi"),
        ("Hi\n-a: x", "Hi"),
        ("Hi\nhttps://x\nNote: y", "Hi\nhttps://x"),
        ("Hi\n- a: x\nNote: y", "Hi\n- a: x"),
        ("Hi\n[a]: x\n<b>: x\nNote: y", "Hi\n[a]: x\n<b>: x"),
    ],
)
def test_generic_labels(text, shown):
    assert said(text, generic=True) == (shown, True, len(text) - len(shown))
    assert said(text, names=[], generic=True)[0] == shown


@pytest.mark.parametrize(
    "text",
    [
        "Hi\n" + "a" * 65 + ": x",
        "Hi\n- Apple: red",
        "Hi\n* Apple: red",
        "Hi\n12. Apple: red",
        "Hi\n3) Apple: red",
        "Hi\n• Apple: red",
        "Hi\n[x: y",
        "Hi\n<x: y",
        "Hi\n—: y",
        "Hi\nhttps://x",
        "Hi\nno label",
        "Hi\n注意：x",
        "Note: first line",
    ],
)
def test_generic_mode_lets_pass(text):
    assert said(text, names=[], generic=True) == (text, False, 0)


def test_only_the_beginning_of_a_line_is_held():
    guard = SpeakerGuard(["Bob"])
    assert guard.feed("Hello") == "Hello"
    assert guard.feed("\n") == ""
    assert guard.feed("Bo") == ""
    assert guard.feed("x") == "\nBox"
    assert guard.feed("es\nB") == "es"
    assert guard.release() == "\nB"
    assert guard.release() == ""
    assert not guard.tripped


def test_the_hold_is_bounded():
    guard = SpeakerGuard(["Bob"])
    fed = GUARD_HOLD_MIN + 10
    assert len(guard.feed("\n" * fed)) == 10
    assert guard.feed("Bob:") != ""  # older newlines make room
    assert guard.tripped
    long = SpeakerGuard(["b" * 100])
    assert long.feed("\n" + "b" * 100) == ""
    assert long.feed(":") == ""
    assert long.tripped
    wide = SpeakerGuard([], generic=True)
    assert wide.feed("\n" + "a" * GENERIC_LABEL_MAX) == ""
    assert wide.feed("a") == "\n" + "a" * (GENERIC_LABEL_MAX + 1)


def test_everything_after_a_label_is_swallowed():
    guard = SpeakerGuard(["Bob"])
    assert guard.feed("Hi\nBob: a") == "Hi"
    assert guard.feed("more\n") == ""
    guard.begin_line()
    assert guard.feed("and more") == ""
    assert guard.release() == ""
    assert guard.swallowed == len("\nBob: amore\nand more")


def test_a_line_can_begin_after_something_else():
    guard = SpeakerGuard(["Bob"])
    assert guard.feed("Hi\n") == "Hi"
    assert guard.release() == "\n"
    assert guard.feed("Bo") == "Bo"
    guard.begin_line()
    assert guard.feed("Bo") == ""
    guard.begin_line()  # already checking: nothing is forgotten
    assert guard.feed("b: x") == ""
    assert guard.tripped


ATOMS = [
    "a", " ", "\n", "\n\n", "*", "**", "_", ":", "：", "Bob", "Mary", " Ann", "Note",
    "- ", "1. ", "[", "\nBob", "\nMary Ann:", "\n**Bob**:", "é", "🙂", "ß",
]  # fmt: skip
RUNS = [1, 1, 1, 2, 3, 31, 32, 33, 64, 65]
texts = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS)), max_size=6).map(
    lambda pairs: "".join(atom * count for atom, count in pairs)
)


@pytest.mark.no_cover  # measuring would be most of its time
@given(texts, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_chunking_does_not_matter(text, generic, first_line, dice: random.Random):
    want = said(text, generic=generic, first_line=first_line)
    for longest in (1, 40):
        guard = SpeakerGuard(NAMES, generic=generic, first_line=first_line)
        shown, at = "", 0
        while at < len(text):
            end = at + dice.randint(1, longest)
            shown += guard.feed(text[at:end])
            at = min(end, len(text))
            assert at - len(shown) - guard.swallowed <= 66
        shown += guard.release()
        assert (shown, guard.tripped, guard.swallowed) == want


@pytest.mark.parametrize("atom", ["\n", " ", "\n ", "*", "\n*", "\nB", "\nBob", ":", "\na:", "a"])
@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.no_cover  # measuring would be most of its time
def test_long_runs_take_linear_time(atom, generic):
    started = time.process_time()
    said(atom * (30_000 // len(atom)), generic=generic, first_line=True)
    assert time.process_time() - started < 2
