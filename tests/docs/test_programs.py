"""Programs in the README, the pages and examples/ run and have the right types; numbers and promises are the code's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minamo.bot import rate_limit
from minamo.cli import main
from minamo.inspect import feed, hub
from minamo.machine import reader
from minamo.shell.discord import targets
from minamo.shell.stops import redis_registry
from minamo.shell.turns import redis_lease
from support.doc_programs import PAGES, ROOT, blocks, programs
from support.progress import promises
from support.seeds import FIRST, dice, seeds
from support.system_parts import report_missing

QUOTES = [block for page in PAGES for block in blocks(page) if block.note.startswith("from ")]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("block", QUOTES, ids=lambda block: f"{block.page.name}-{block.line}")
def test_a_quote_is_in_its_file(block: object) -> None:
    file = ROOT / block.note.removeprefix("from ")  # type: ignore[attr-defined]
    assert block.text.strip() in file.read_text(encoding="utf-8")  # type: ignore[attr-defined]


def test_every_note_is_understood() -> None:
    notes = {block.note for page in PAGES for block in blocks(page)}
    free = {note for note in notes if note.startswith(("from ", "not run: "))}
    assert notes - free <= {"", "continues"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs, as files of their own."""
    made = tmp_path_factory.mktemp("programs")
    for page in PAGES:
        for name, text in programs(page):
            (made / f"{name}.py").write_text(text, encoding="utf-8")
    for path in EXAMPLES:
        if path.stem != "with_lightbulb":  # tests/oldest; it needs another hikari
            name = "_".join(path.relative_to(ROOT / "examples").with_suffix("").parts)
            shutil.copy(path, made / f"example_{name}.py")
    assert len(list(made.iterdir())) > 30
    return made


@pytest.mark.timeout(300)
def test_mypy_finds_nothing(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(300)
def test_pyright_finds_nothing(folder: Path) -> None:
    command = Path(sys.executable).with_name("pyright")
    done = subprocess.run(
        [str(command), "--pythonpath", sys.executable, str(folder)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "0 errors" not in done.stdout and " error" not in done.stdout:
        report_missing("npm", "pyright could not be started")
    assert done.returncode == 0, done.stdout


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


def test_privacy_names_the_limits_of_what_is_kept() -> None:
    text = page("privacy")
    assert f"the latest {hub.STREAMS_MAX} replies" in text
    assert f"the latest {feed.MESSAGES_MAX} messages of {feed.CHANNELS_MAX} channels" in text
    assert targets.PLACES_MAX == rate_limit.PEOPLE_MAX == 10_000
    assert "up to 10 000 channels" in text
    assert "up to 10 000 users" in text
    assert f"those of streams after {redis_registry.EXPIRE_S:.0f} seconds" in text
    assert f"those of leases after {redis_lease.TTL_MS // 1000}" in text


def test_the_form_of_a_chart_is_complete() -> None:
    table = page("machine").partition("### The form of a chart")[2].partition("An invalid")[0]
    told = set(re.findall(r"`(\w+)`", table))
    keys = {key for name, keys in vars(reader).items() if name.endswith("_KEYS") for key in keys}
    assert {"cond", "transient", "events"} <= keys
    assert keys <= told


def test_performance_names_files_that_exist() -> None:
    files = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.\w+)`", page("performance"))
    assert len(files) >= 2
    for file in files:
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md", "docs/index.md", "SUPPORT.md"])
def test_every_make_target_exists(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets_ = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"`make ([a-z -]+)|^make ([a-z-]+)", text, re.MULTILINE)
    assert {word for pair in named for word in " ".join(pair).split()} <= targets_


PRINTED = [ROOT / "README.md", ROOT / "docs" / "machine.md"]
PROGRAMS = [
    pytest.param(program, id=f"{page.name}-{number}")
    for page in PRINTED
    for number, program in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
    if "DISCORD_TOKEN" not in program
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_programs_use_public_names_alone(page: Path) -> None:
    inner = r"^\s*(?:from|import) (minamo\.(?!testing|twin|machine)\w+.*)"
    assert re.findall(inner, page.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_every_command_is_on_some_page() -> None:
    text = "".join(
        page.read_text(encoding="utf-8") for page in [*PRINTED, *(ROOT / "docs").glob("*.md")]
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing = [name for name in main._COMMANDS if f"minamo {name}" not in text + makefile]
    assert not missing


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(
            r"\]\((?!https?://|#)([^)#]+)\)", page.read_text(encoding="utf-8")
        ):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


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
