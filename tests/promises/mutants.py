"""Show that every promise can fail: break the code it guards, and see its own quick test fail.

`make mutants` draws, for each promise, small changes on lines that its quick tests run (a
comparison, a condition, a number), until three of them are caught; `K=p07` for one promise,
`SEED=…` for other changes.  All of it happens in a copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = 3
TRIES = 30
TIMEOUT_S = 300
#: The modules that a promise guards, below src/minamo, and the folders of its quick tests.
GUARDED: dict[str, tuple[str, str]] = {
    "p01": ("core/stream.py core/actions.py machine/machine.py", "properties core simulation"),
    "p02": ("core/lexing core/actions.py core/stream.py", "core properties"),
    "p03": ("core/accounting core/actions.py core/fitting", "properties core"),
    "p04": ("core/fitting", "properties core"),
    "p05": ("core/lexing core/captures.py", "properties core"),
    "p06": ("core/lexing core/limits.py", "properties"),
    "p07": ("core/fitting/fit.py core/limits.py core/cleaning", "properties"),
    "p08": ("core/cleaning/humanize.py core/accounting", "properties core contract"),
    "p09": ("machine/compiler.py machine/machine.py machine/reader.py", "contract machine core"),
    "p10": ("shell/driver.py shell/stops", "simulation"),
    "p11": ("machine/machine.py shell/driver.py", "simulation"),
    "p12": ("machine/machine.py shell/driver.py", "simulation"),
    "p13": ("shell/driver.py shell/delivery", "simulation"),
    "p14": ("shell/driver.py shell/delivery", "simulation shell/delivery"),
    "p15": ("shell/driver.py shell/delivery shell/providers/scripted.py", "simulation"),
    "p16": ("shell/delivery/queue.py shell/driver.py", "simulation"),
    "p17": ("shell/delivery shell/turns/channel.py", "simulation"),
    "p18": ("shell/delivery/delivery.py shell/discord/bot.py", "shell/delivery"),
    "p19": ("shell/delivery/delivery.py shell/discord/webhook.py", "shell/delivery"),
    "p20": ("shell/discord shell/delivery/interfaces.py", "shell"),
    "p21": ("core/redact.py wire/errors.py", "core wire shell"),
    "p22": ("shell/providers", "shell/providers"),
    "p23": ("wire/sse.py wire/assembler.py shell/providers/http.py", "shell/providers wire"),
    "p24": ("wire", "fuzz"),
    "p25": ("core/cleaning", "properties core"),
    "p26": ("core/stream.py core/actions.py shell/driver.py", "simulation"),
    "p27": ("shell/callbacks.py shell/telemetry/telemetry.py", "shell"),
}
_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changes(source: str, lines: set[int]) -> Iterator[tuple[int, str, str]]:
    """Each small change of a line in *lines*: its line, what it does, and the changed source."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) not in lines:
            continue
        for what, undo in _edits(node):
            yield node.lineno, what, ast.unparse(tree)  # type: ignore[attr-defined]
            undo()


def _edits(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Change *node* in place, one way after the other; the second value puts it back."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        kept = node.ops[0]
        node.ops[0] = _SWAPS[type(kept)]()  # type: ignore[call-overload]
        yield f"{type(kept).__name__} → {type(node.ops[0]).__name__}", _later(node.ops, 0, kept)
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _SWAPS:
        was = node.op
        node.op = _SWAPS[type(was)]()  # type: ignore[assignment]
        yield f"{type(was).__name__} → {type(node.op).__name__}", lambda: setattr(node, "op", was)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        test = node.test
        node.test = ast.UnaryOp(ast.Not(), test)
        yield "condition turned round", lambda: setattr(node, "test", test)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        value = node.value
        node.value = not value if isinstance(value, bool) else value + 1
        yield f"{value} → {node.value}", lambda: setattr(node, "value", value)


def _later(items: list[ast.cmpop], at: int, kept: ast.cmpop) -> object:
    return lambda: items.__setitem__(at, kept)


class Copy:
    """A copy of the tree, in which tests are run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        skip = shutil.ignore_patterns(".venv*", ".git", "build", "node_modules", "__pycache__")
        shutil.copytree(ROOT, self.root, ignore=skip, symlinks=True)

    def run(self, promise: str, *before: str) -> int:
        """Run the quick tests of *promise*; returns pytest's exit code."""
        folders = [f"tests/{each}" for each in GUARDED[promise][1].split()]
        command = [
            *(sys.executable, *before, "-m", "pytest", "-q", "-x", "-m", "not slow", "-k", promise),
            *("-p", "no:cacheprovider", "--timeout=240", *folders),
        ]
        environ = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            return subprocess.run(
                command,
                cwd=self.root,
                env=environ,
                timeout=TIMEOUT_S,
                capture_output=True,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return 1  # a test that never ends has noticed something

    def covered(self, promise: str) -> dict[Path, set[int]]:
        """The lines of the guarded modules that the quick tests run, without definitions."""
        data = self.root / ".coverage-lines"
        code = self.run(
            promise,
            "-m",
            "coverage",
            "run",
            "--rcfile=/dev/null",
            f"--data-file={data}",
            "--source=minamo",
        )
        if code:
            print(
                f"{promise}: its quick tests fail before anything is changed ({code})", flush=True
            )
            return {}
        told = self.root / "lines.json"
        subprocess.run(
            [sys.executable, "-m", "coverage", "json", "--rcfile=/dev/null", f"--data-file={data}", "-o", str(told), "-q"],
            cwd=self.root, check=True, capture_output=True,
        )  # fmt: skip
        guarded = tuple(f"src/minamo/{each}" for each in GUARDED[promise][0].split())
        files = json.loads(told.read_text())["files"]
        return {
            self.root / name: set(found["executed_lines"])
            for name, found in files.items()
            if name.startswith(guarded)
        }


def draw(copy: Copy, promise: str, rng: random.Random) -> Iterator[tuple[Path, int, str, str]]:
    """Changes to guarded code, in any order."""
    every = [
        (file, line, what, source)
        for file, lines in sorted(copy.covered(promise).items())
        for line, what, source in changes(file.read_text(encoding="utf-8"), _inside(file, lines))
    ]
    yield from rng.sample(every, min(len(every), TRIES))


def _inside(file: Path, lines: set[int]) -> set[int]:
    """The lines inside functions: what is run at the import guards no promise."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }
    return lines & inside


def judge(copy: Copy, promise: str, seed: int) -> tuple[int, int]:
    """Change the code until enough changes are caught; returns the caught and the tried."""
    caught = tried = 0
    for file, line, what, source in draw(copy, promise, random.Random(f"{seed} {promise}")):
        kept = file.read_text(encoding="utf-8")
        begin = time.monotonic()
        file.write_text(source, encoding="utf-8")
        try:
            found = copy.run(promise) != 0
        finally:
            file.write_text(kept, encoding="utf-8")
        tried, caught = tried + 1, caught + found
        place = f"{file.relative_to(copy.root / 'src' / 'minamo')}:{line}"
        how = "caught" if found else "lived"
        print(f"  {promise} {place} {what}: {how}, {time.monotonic() - begin:.0f} s", flush=True)
        if caught == WANTED:
            break
    return caught, tried


def main() -> int:
    """Judge the promises, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a promise, such as p07")
    options = parser.parse_args()
    names = [name for name in GUARDED if re.search(options.only, name)]
    table: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for name in names:
            table[name] = judge(copy, name, options.seed)
    print("\npromise  caught of tried")
    for name, (caught, tried) in table.items():
        print(f"{name.upper():8} {caught} of {tried}{'' if caught >= WANTED else '   TOO FEW'}")
    return int(any(caught < WANTED for caught, _ in table.values()))


if __name__ == "__main__":
    sys.exit(main())
