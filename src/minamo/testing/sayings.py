"""Texts that find faults: long runs that straddle every limit, and Discord markdown."""

from __future__ import annotations

from hypothesis import strategies as st

ATOMS = [
    "a",
    " ",
    ".",
    "!",
    "\n",
    "\r\n",
    '"',
    "`",
    "```",
    "~~~",
    "<",
    "<think>",
    "</think>",
    "<details>",
    "</details>",
    "@everyone",
    "<@123>",
    "[x](http://y)",
    "https://x_y_z.example/a__b ",
    "*",
    "**",
    "_",
    "__",
    "~~",
    "|",
    "||",
    "\\",
    "\\*",
    "> ",
    "\n> ",
    "\n>>> ",
    "\n```py\n",
    "\n```\n",
    "\n| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "- ",
    "\n1. a\n    ```\n",
    "    ```\n",
    "\t~~~\n",
    "é",
    "e\u0301",
    "\u0301",
    "🙂",
    "👩\u200d👩\u200d👧",
    "漢",
    "\u200b",
    "\u202e",
    "\u2028",
    "\x00",
    "\ud83d",
]
# They straddle every limit we have.
RUNS = [1, 1, 1, 1, 2, 3, 63, 64, 65, 130, 999, 1000, 1001, 1999, 2000, 2001]
WORDS = ["alpha", "beta", "x", "a.b", "Ωmega", "漢字", "🙂", "fn(a, b)", "10", "end.", "so?", "--"]


def texts(max_size: int = 8) -> st.SearchStrategy[str]:
    """Atoms, each repeated up to a couple of thousand times."""
    run = st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS))
    return st.lists(run, max_size=max_size).map(
        lambda runs: "".join(atom * count for atom, count in runs)
    )


def words(max_size: int = 40) -> st.SearchStrategy[str]:
    """Some words with blanks between them."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=max_size).map(" ".join)


def formatted(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Something with a marker around it, mostly closed."""
    markers = st.sampled_from(["**", "__", "~~", "||", "*", "_", "`", "``"])
    whole = st.tuples(markers, inner).map(lambda t: f"{t[0]}{t[1]}{t[0]}")
    broken = st.tuples(markers, inner).map(lambda t: f"{t[0]}{t[1]}")
    return st.one_of(whole, whole, whole, broken)


def fences() -> st.SearchStrategy[str]:
    """Code fences of both kinds, some left open, some with backticks inside."""
    return st.tuples(
        st.sampled_from(["```", "````", "~~~"]),
        st.sampled_from(["", "py", "c++", "{r}", "js title=x"]),
        st.lists(st.sampled_from(["x = 1", "    pass", "", "a || b", "```", "**kw", "y" * 400])),
        st.booleans(),
    ).map(lambda t: "\n".join([t[0] + t[1], *t[2], *([t[0]] if t[3] else [])]))


def tables() -> st.SearchStrategy[str]:
    """Tables, with ragged rows and wide characters."""
    cell = st.sampled_from(["a", "long cell text", "", "漢字", "`x`", "**b**", "a\\|b", "🙂", "|"])
    row = st.lists(cell, min_size=1, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |")
    return st.tuples(st.lists(row, min_size=1, max_size=30), st.integers(1, 4)).map(
        lambda t: "\n".join([t[0][0], "|" + "---|" * t[1], *t[0][1:]])
    )


def quotes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Quotes of both kinds."""
    lines = inner.map(lambda text: "\n".join(f"> {line}" for line in text.split("\n")))
    return st.one_of(lines, inner.map(lambda text: f">>> {text}"))


def markdown_texts(max_size: int = 10) -> st.SearchStrategy[str]:
    """Discord markdown, well formed and not: nested formatting, fences, tables, quotes, runs."""
    inline = st.recursive(
        words(),
        lambda inner: st.one_of(
            formatted(inner),
            st.lists(inner, min_size=1, max_size=4).map(" ".join),
            st.lists(inner, min_size=1, max_size=3).map("\n".join),
        ),
        max_leaves=8,
    )
    block = st.one_of(inline, formatted(inline), quotes(inline), fences(), tables(), texts(3))
    joint = st.sampled_from(["\n", "\n\n", " ", "\r\n"])
    return st.lists(st.tuples(block, joint), max_size=max_size).map(
        lambda parts: "".join(part + joint for part, joint in parts)
    )


def marked_texts() -> st.SearchStrategy[str]:
    """What models say: any of these, with thoughts, details and fences that open and close."""
    mark = st.sampled_from(
        ["<think>", "</think>", "<details>", "</details>", "<think/>", "</thi", "\n```py\n",
         "\n```\n", "<summary>s</summary>", "Sentence. ", "\n\n", "\nBob: ", "[system: x]"]
    )  # fmt: skip
    mixed = st.lists(st.one_of(texts(2), words(8), mark, mark), max_size=6).map("".join)
    return st.one_of(mixed, mixed, markdown_texts(2)).map(_whole)


def _whole(text: str) -> str:
    """Without lone halves of characters, which have no place that could be followed."""
    return "".join(char for char in text if not "\ud800" <= char <= "\udfff")
