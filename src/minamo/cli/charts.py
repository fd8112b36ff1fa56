"""`minamo charts`: list, show, check and draw statecharts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from minamo import machine  # lazy: other commands need neither the verifier nor the pictures
from minamo.errors import BadRequest, ChartError

_FORMATS = ("mermaid", "md", "svg", "scxml")
_EPILOG = """\
examples:

  minamo charts                                  list them
  minamo charts stream                           every state and row of one, in Markdown
  minamo charts stream --format svg > stream.svg a picture of it
  minamo charts --charts my_charts --check       verify charts of your own
  minamo charts --charts my_charts --write       draw them into the folder diagrams beside it

exit codes: 0 success; 1 a chart is wrong, or a diagram is out of date; 2 there is no such chart,
state or folder
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "charts",
        help="list, show, check and draw statecharts",
        description="List, show, check and draw statecharts; minamo's own, or yours.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help="show this chart")
    parser.add_argument("--format", choices=_FORMATS, help="how to show it (default: md)")
    parser.add_argument("--state", metavar="LEAF", help="light this state (mermaid, svg)")
    parser.add_argument("--check", action="store_true", help="verify all, and compare the diagrams")
    parser.add_argument("--write", action="store_true", help="draw the diagrams of all")
    parser.add_argument("--charts", type=Path, metavar="DIR", help="a folder of charts of your own")
    parser.add_argument(
        "--diagrams", type=Path, metavar="DIR", help="where diagrams are (default: beside them)"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from minamo.machine.reader import home

    folder: Path = options.charts or home()
    diagrams: Path = options.diagrams or _beside(folder, writing=options.write)
    known = machine.chart_names(folder)
    if not known:
        raise BadRequest(f"no charts in {folder}; a chart is a file there, ending in .yaml")
    if options.check or options.write:
        if options.name is not None:
            raise BadRequest("--check and --write are for all charts; leave the name out")
        if options.write:
            return _write(folder, diagrams, known)
        return _check(folder, diagrams, known, _rewrite(options))
    if options.name is None:
        if options.format or options.state:
            raise BadRequest(f"which chart? Name one of {', '.join(known)}")
        return _list(folder, known)
    if options.name not in known:
        raise BadRequest(f"there is no chart {options.name!r}; known are {', '.join(known)}")
    return _show(
        machine.load(folder / f"{options.name}.yaml"), options.format or "md", options.state
    )


def _beside(folder: Path, *, writing: bool) -> Path:
    if writing and (folder.parent / "__init__.py").is_file():
        raise BadRequest("say where to draw the charts of an installed minamo: --diagrams DIR")
    return folder.parent / "diagrams"


def _list(folder: Path, known: list[str]) -> int:
    line = "{:<12} {:>7} {:>7} {:>7} {:>7}  {}".format
    print(line("chart", "states", "leaves", "events", "rows", "about"))
    for name in known:
        chart = machine.load(folder / f"{name}.yaml")
        counts = (len(chart.states), len(chart.leaves), len(chart.events), len(chart.rows))
        print(line(name, *counts, chart.about.split(". ")[0].rstrip(".")))
    return 0


def _show(chart: machine.Chart, form: str, state: str | None) -> int:
    leaves = [leaf.id for leaf in chart.leaves]
    if state is not None and state not in leaves:
        raise BadRequest(f"{chart.name} has no leaf {state!r}; it has {', '.join(leaves)}")
    if state is not None and form in ("md", "scxml"):
        raise BadRequest(f"--state lights a picture; {form} has none, use mermaid or svg")
    if form == "mermaid":
        text = machine.to_mermaid(chart, lit=state)
    elif form == "svg":
        text = machine.to_svg(chart, lit=state)
    else:
        text = machine.to_scxml(chart) if form == "scxml" else machine.to_markdown(chart)
    sys.stdout.write(text)
    return 0


def _pictures(chart: machine.Chart) -> dict[str, str]:
    return {
        f"{chart.name}.md": machine.to_markdown(chart),
        f"{chart.name}.svg": machine.to_svg(chart),
    }


def _write(folder: Path, diagrams: Path, known: list[str]) -> int:
    diagrams.mkdir(exist_ok=True)
    for name in known:
        for file, text in _pictures(machine.load(folder / f"{name}.yaml")).items():
            (diagrams / file).write_text(text, encoding="utf-8")
            print(_place(diagrams / file))
    return 0


def _place(path: Path) -> str:
    """Return *path* relative to the working directory if it is inside it."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _rewrite(options: argparse.Namespace) -> str:
    """Return the command that draws the diagrams that these options compare."""
    words = ["minamo charts"]
    words += [f"--charts {options.charts}"] if options.charts else []
    words += [f"--diagrams {options.diagrams}"] if options.diagrams else []
    return " ".join([*words, "--write"])


def _check(folder: Path, diagrams: Path, known: list[str], rewrite: str) -> int:
    wrong: list[str] = []
    for name in known:
        try:
            chart = machine.load(folder / f"{name}.yaml")
        except ChartError as error:
            wrong.append(str(error))
            continue
        wrong += map(str, machine.verify(chart))
        if chart.name != name:
            wrong.append(
                f"{name}.yaml: the chart calls itself {chart.name!r}; name it like its file"
            )
        elif diagrams.is_dir():  # an installed package has charts but no diagrams
            wrong += _compare(chart, diagrams, rewrite)
    for line in wrong:
        print(line, file=sys.stderr)
    charts = "1 chart" if len(known) == 1 else f"{len(known)} charts"
    print(f"{charts} checked, {len(wrong) or 'nothing'} wrong")
    return 1 if wrong else 0


def _compare(chart: machine.Chart, diagrams: Path, rewrite: str) -> list[str]:
    wrong = []
    for file, text in _pictures(chart).items():
        path = diagrams / file
        place = f"{diagrams.name}/{file}"
        if not path.is_file():
            wrong.append(f"{place}: missing; run `{rewrite}`")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(f"{place}: does not match {chart.file}; run `{rewrite}`")
    return wrong
