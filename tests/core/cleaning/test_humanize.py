import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.accounting.spans import covers
from minamo.core.cleaning.humanize import humanize

SEEDS = range(60)


def versions(text: str, **options) -> set[str]:
    out = set()
    for seed in SEEDS:
        shaped = humanize(text, seed, **options)
        assert covers(text, shaped.pieces, shaped.dropped)
        assert {lost.reason for lost in shaped.dropped} <= {"humanize"}
        assert {p.reason for p in shaped.pieces if p.start is None} <= {"humanize"}
        assert humanize(text, seed, **options) == shaped
        out.add(shaped.text)
    return out


@pytest.mark.parametrize(
    ("text", "all_of_them"),
    [
        ("The cat sleeps", {"The cat sleeps", "the cat sleeps"}),
        ("Cats sleep.", {"Cats sleep.", "Cats sleep"}),
        ("猫が寝る。", {"猫が寝る。", "猫が寝る"}),
        ("Hm... right", {"Hm... right", "Hm… right"}),
        ("Fine! But no", {"Fine! But no", "Fine! but no"}),
        ("It's late", {"It's late", "it's late"}),
        ("Cats sleep. \n", {"Cats sleep. \n", "Cats sleep \n"}),
    ],
)
def test_the_slips_there_are(text, all_of_them):
    assert versions(text) == all_of_them


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am here",
        "Alice is here",
        "IT is down",
        "NASA called",
        "`The code...`",
        "```\nThe code...\n```",
        "```\nThe code.",
        "https://x.y/a...b",
        "<https://x.y/a...b>",
        "<:a...:1>",
        "@Bob...",
        "1...5",
        "a....b",
        "Tea costs 5.",
        "in the U.S.",
        "Wait!",
        "Wait?",
        "x." + "a" * 80 + ".",
        "\ud800",
    ],
)
def test_what_is_never_touched(text):
    assert versions(text) == {text}


def test_code_that_began_earlier():
    assert versions("The code... here\n", fence="```") == {"The code... here\n"}
    assert "x\n```\nhm… x" in versions("x\n```\nhm... x", fence="```")


def test_it_is_light():
    text = "The plan is good. But it will take a while. We should start now, I think, and see."
    changed = sum(humanize(text, seed).text != text for seed in range(1000))
    assert 300 < changed < 600
    assert {humanize("Fine, thanks.", seed).text for seed in (-5, 0, 1 << 70)}


ATOMS = [
    "The ", "But", "a", " ", ".", "...", "!", "\n", "`", "```", "<@1>", "https://x.y",
    "@", ":a:", "é", "🙂", "\u2028", "\ud800",
]  # fmt: skip
RUNS = [1, 1, 1, 2, 3, 64, 65]
texts = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS)), max_size=8).map(
    lambda pairs: "".join(atom * count for atom, count in pairs)
)


@given(texts, st.integers())
def test_nothing_is_lost(text, seed):
    shaped = humanize(text, seed)
    assert covers(text, shaped.pieces, shaped.dropped)
    assert shaped == humanize(text, seed)
    assert shaped.text.replace("…", "...").lower().strip(" \n.") == (
        text.replace("…", "...").lower().strip(" \n.")
    )


@pytest.mark.parametrize("atom", [*ATOMS, "<a", ":a", "The. "])
@pytest.mark.no_cover  # measuring would be most of its time
def test_long_runs_take_linear_time(atom):
    started = time.process_time()
    humanize(atom * (30_000 // len(atom)), 1)
    assert time.process_time() - started < 2
