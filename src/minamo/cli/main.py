"""The `minamo` command: dispatches to the sub-command and reports user errors in one line.

Exit codes: 0 success; 1 the command ran and the result is negative; 2 invalid arguments or
settings.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from minamo import __version__
from minamo.errors import BadRequest, BadSetting, MinamoError

# Each module has `add(commands)`, which declares the arguments and the function to run.
_COMMANDS = ("run", "demo", "new", "doctor", "ask", "replay", "charts", "twin")
# A package has no benchmarks; a checkout has.
_FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"
# The exit code of shells for a process ended by Ctrl-C: 128 + SIGINT.
_INTERRUPTED = 130
_EPILOG = """\
examples:

  minamo run                    see it in the browser: no token, no account
  minamo demo code              see it in the terminal
  minamo run --config FILE      run your own bot; first: minamo run --write-config FILE
  minamo new my-bot             write the project of a bot of your own
  minamo COMMAND --help         more about one command

exit codes: 0 success; 1 the command ran, and the result is negative; 2 an argument or a setting
is wrong, or an address or a port cannot be used
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line, with every sub-command."""
    top = argparse.ArgumentParser(
        prog="minamo",
        description="Stream LLM replies into Discord through a state machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"minamo {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name in _COMMANDS:
        import_module(f"minamo.cli.{name}").add(commands)
    _add_bench(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED  # no message: the user pressed Ctrl-C


def _run(arguments: Sequence[str] | None) -> int:
    top = parser()
    options = top.parse_args(arguments)
    if options.command is None:
        top.print_help(sys.stderr)
        return 2
    try:
        return int(options.run(options))
    except MinamoError as error:
        print(f"minamo: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadRequest | BadSetting) else 1
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has exited.  Without a file behind stdout, the
        # interpreter's own flush at exit would fail again and print a warning.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        # A file or folder named by the user.
        print(f"minamo: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `minamo bench`, which runs the benchmarks of a checkout."""
    parser = commands.add_parser(
        "bench",
        help="measure, in a checkout",
        description="Measure a part of minamo beside its peers, in one interleaved run.  "
        "`make bench` runs them all.",
    )
    known = ", ".join(_benchmarks()) or "nothing here; the measurements are in a checkout"
    parser.add_argument("subject", nargs="?", help=f"what to measure: {known}")
    parser.add_argument("--quick", action="store_true", help="a short run, with rough figures")
    parser.add_argument("--json", action="store_true", help="figures for programs")
    parser.set_defaults(run=_run_bench)


def _benchmarks() -> list[str]:
    return sorted(path.stem for path in (_FOLDER / "suites").glob("[a-z]*.py"))


def _run_bench(options: argparse.Namespace) -> int:
    known = _benchmarks()
    if not known:
        raise MinamoError("the measurements are not in the package; run this in a checkout")
    if options.subject is None:
        print("\n".join(known))
        return 0
    if options.subject not in known:
        raise BadRequest(
            f"nothing to measure called {options.subject!r}; there is {', '.join(known)}"
        )
    flags = [f"--{flag}" for flag in ("quick", "json") if getattr(options, flag)]
    command = [sys.executable, "-m", "benchmarks", options.subject, *flags]
    return subprocess.run(command, cwd=_FOLDER.parent, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
