"""Every promise on the page has tests by its id, and no test names one that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.progress import promises
from support.seeds import FIRST, dice, seeds

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = {
    f"p{int(number):02}": row
    for row, number in re.findall(r"^(\| P(\d+) \|.*)$", PAGE, re.MULTILINE)
}
TESTS = [
    (file, name)
    for file in sorted((ROOT / "tests").rglob("test_*.py"))
    if "node_modules" not in file.parts
    for name in re.findall(
        r"^ *(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def test_the_page_has_all_the_promises_once_and_in_order() -> None:
    assert list(ROWS) == [f"p{number:02}" for number in range(1, 28)]
    assert len(re.findall(r"^\| P\d+", PAGE, re.MULTILINE)) == len(ROWS)


@pytest.mark.parametrize("promise", ROWS)
def test_a_promise_has_tests_and_its_command_finds_them(promise: str) -> None:
    assert f"`make promises K={promise}`" in ROWS[promise]
    assert any(promise in promises(name) for _, name in TESTS)


def test_a_test_names_only_promises_of_the_page() -> None:
    assert not [(file.name, name) for file, name in TESTS if set(promises(name)) - set(ROWS)]


def test_the_ids_find_nothing_else() -> None:
    """`pytest -k p10` looks at names of files and folders, too."""
    for file, name in TESTS:
        assert re.findall(r"p\d\d", name) == promises(name), name
        assert not re.search(r"p\d\d", str(file.relative_to(ROOT))), file


def test_a_figure_in_the_name_of_a_test_is_the_one_on_the_page() -> None:
    found = 0
    for _, name in TESTS:
        for figure in re.findall(r"(?<=_)\d{1,3}(?:_\d{3})+(?=_)", name) if promises(name) else []:
            assert any(figure.replace("_", ",") in ROWS[each] for each in promises(name)), name
            found += 1
    assert found >= 6


def test_a_case_that_fails_names_its_seed_and_can_be_begun_with() -> None:
    with pytest.raises(ValueError, match="no") as caught, dice(5):
        raise ValueError("no")
    assert caught.value.__notes__ == ["seed=5: MINAMO_SEED=5 makes this test begin here"]
    assert (seeds(10)[0], seeds(10, 1)[0], len(seeds(10, 1))) == (FIRST, FIRST + 10, 10)
