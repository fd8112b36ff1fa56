"""`minamo new`: write the project of a bot, with tests, settings and a Dockerfile."""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from minamo.errors import BadRequest

# The template is a project of this name; its files end in .txt, so that no tool takes them for
# code of minamo.
_NAME, _PACKAGE = "my-bot", "my_bot"
_SUFFIX = ".txt"
# As the package index takes it: letters and digits, with single separators between them.
_VALID = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", re.IGNORECASE)
_EPILOG = """\
examples:

  minamo new my-bot                     writes the folder my-bot
  minamo new bots/helper --name helper  the folder and the name may differ

The folder must be new or empty; nothing is overwritten.
exit codes: 0 it is written; 2 the name or the folder cannot be used
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "new",
        help="write the project of a new bot",
        description="Write the project of a new bot: the bot, tests that run it in a local "
        "Discord, settings, a Dockerfile and a README.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--name", help="the name of the project (default: that of the folder)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder: Path = options.folder
    name = _checked_name(options.name or folder.resolve().name)
    _check_free(folder)
    for path, text in _files(name):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    print(f"{name} is written to {folder}; its README.md says how to test and run it")
    return 0


def _checked_name(name: str) -> str:
    package = _package(name)
    if not _VALID.fullmatch(name) or keyword.iskeyword(package):
        raise BadRequest(
            f"{name!r} cannot name a project: begin with a letter, use letters, digits and "
            "single dashes; give one with --name"
        )
    if package in ("minamo", "hikari", "tests"):
        raise BadRequest(f"{name!r} would hide the package {package}; give another with --name")
    return name


def _package(name: str) -> str:
    return re.sub(r"[-.]", "_", name).lower()


def _check_free(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadRequest(f"{folder} is a file; name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise BadRequest(f"{folder} is not empty, and nothing is overwritten; name a new folder")


def _files(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the paths and texts of the project, under its own name."""
    for path, text in _template(resources.files("minamo.cli") / "template", Path()):
        renamed = Path(*(part.replace(_PACKAGE, _package(name)) for part in path.parts))
        yield renamed, text.replace(_PACKAGE, _package(name)).replace(_NAME, name)


def _template(folder: Traversable, at: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _template(entry, at / entry.name)
        elif entry.name.endswith(_SUFFIX):
            path = at / entry.name.removesuffix(_SUFFIX)
            yield path, entry.read_text(encoding="utf-8")
