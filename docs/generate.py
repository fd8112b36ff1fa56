"""Writes the pages that are made from the code, and connects links to files of the repository.

A Sphinx extension.  It generates docs/_generated: the reference of every public name, a page for
each chart, the examples, and the texts at the top of the repository.  In the pages written by
hand, links to such files are those that work on GitHub; here they lead to the generated pages.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import YamlLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import minamo
from minamo.machine import Chart, Step, chart_names, load, paths, to_markdown, to_svg

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = HERE / "_generated"

# Pages of the reference: the public names of `minamo`, by the module they come from.
SECTIONS = {
    "Client and replies": ("shell.client", "core.config", "core.result", "core.messages",
                           "shell.options", "shell.delivery", "shell.discord"),
    "Conversations": ("wire.conversation",),
    "Providers and adapters": ("shell.providers", "wire", "core.chunks"),
    "Tools and turns": ("shell.turns.tool", "shell.turns.turn", "wire.options"),
    "Stops and several processes": ("shell.stops", "shell.turns"),
    "Notices and telemetry": ("shell.notices", "shell.telemetry"),
    "Traces": ("core.trace", "inspect"),
    "Errors": ("errors",),
    "The full form": ("shell",),
}  # fmt: skip
PACKAGES = ("minamo.machine", "minamo.testing", "minamo.twin")
TEXTS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md")


def generate(_: Sphinx) -> None:
    """Write all generated pages."""
    shutil.rmtree(OUT, ignore_errors=True)
    for folder in ("api", "charts"):
        (OUT / folder).mkdir(parents=True)
    _write_reference()
    for name in chart_names():
        (OUT / "charts" / f"{name}.md").write_text(chart_page(load(name)), encoding="utf-8")
    about = "The program executes these charts; the pictures are drawn from them."
    _write_index("charts", "All charts", about, chart_names())
    (OUT / "examples.md").write_text(examples_page(), encoding="utf-8")
    for name in TEXTS:
        if (ROOT / name).exists():
            text = (ROOT / name).read_text(encoding="utf-8")
            (OUT / name.lower()).write_text(_from_top(text), encoding="utf-8")


# The reference.


def public_names(package: str) -> list[str]:
    """Return the names that *package* exports, without its version."""
    return [name for name in importlib.import_module(package).__all__ if not name.startswith("_")]


@functools.cache
def _homes() -> dict[str, str]:
    """Return the module that each public name of `minamo` comes from, as its imports say."""
    tree = ast.parse(Path(minamo.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def section_of(name: str) -> str:
    """Return the page of a public name: that with the longest prefix of its module."""
    module = _homes()[name].removeprefix("minamo.")
    found = [
        (len(prefix), title)
        for title, prefixes in SECTIONS.items()
        for prefix in prefixes
        if module.startswith(prefix)
    ]
    return max(found)[1]


def _write_reference() -> None:
    public = public_names("minamo")
    pages = []
    for title in SECTIONS:
        slug = re.sub(r"\W+", "-", title.lower())
        _write_page(slug, title, "minamo", [name for name in public if section_of(name) == title])
        pages.append(slug)
    for package in PACKAGES:
        names = [name for name in public_names(package) if name not in public]
        _write_page(package, f"`{package}`", package, names)
        pages.append(package)
    _write_index("api", "Reference", "Every public name.", pages)


def _write_index(folder: str, title: str, about: str, pages: list[str]) -> None:
    entries = "\n".join(pages)
    text = f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"
    (OUT / folder / "index.md").write_text(text, encoding="utf-8")


def _write_page(slug: str, title: str, package: str, names: list[str]) -> None:
    parts = [f"# {title}\n"]
    parts += [f"## {name}\n\n```{{eval-rst}}\n{_directive(package, name)}\n```\n" for name in names]
    (OUT / "api" / f"{slug}.md").write_text("\n".join(parts), encoding="utf-8")


def _directive(package: str, name: str) -> str:
    found = getattr(importlib.import_module(package), name)
    if isinstance(found, type):
        members = [] if issubclass(found, Exception) else ["   :members:", "   :undoc-members:"]
        return "\n".join([f".. autoclass:: {package}.{name}", *members])
    kind = "autofunction" if callable(found) else "autodata"
    return f".. {kind}:: {package}.{name}"


# Charts.


def chart_page(chart: Chart) -> str:
    """Return the page of one chart: the picture with its player, the tables, the source."""
    tables = to_markdown(chart).partition("\n## States\n")[2].partition("## The same as Mermaid")[0]
    source = (ROOT / "statecharts" / f"{chart.name}.yaml").read_text(encoding="utf-8")
    shown = HtmlFormatter(lineanchors="yaml", wrapcode=True)
    scenes = json.dumps(scenarios(chart)).replace("</", "<\\/")
    return "\n".join(
        [
            f"# The chart `{chart.name}`\n",
            f"{chart.about}\n",
            "Choose a path and step through it; press a state to read about it.\n",
            f'<div class="chart-player" data-chart="{chart.name}">',
            f'<script type="application/json">{scenes}</script>',
            to_svg(chart).strip(),
            "</div>\n",
            f"## States\n{_anchored(chart, tables)}",
            "## Source\n",
            f"This is `statecharts/{chart.name}.yaml`, the file that the program executes.\n",
            highlight(source, YamlLexer(), shown).strip().replace("\n\n", "\n&#8203;\n"),
            "",
        ]
    )


def _anchored(chart: Chart, tables: str) -> str:
    """Give every state in the list an anchor and a link to its line of the source."""
    for state in chart.states.values():
        anchor = f'<a class="chart-state" id="about-{state.id}" href="#yaml-{state.line}">'
        tables = tables.replace(f"- **{state.id}**", f"- {anchor}{state.id}</a>", 1)
    return tables


def scenarios(chart: Chart) -> list[dict[str, Any]]:
    """Return the paths that the player offers: the shortest to each state, and a real trace."""
    ways: dict[str, tuple[Step, ...]] = {}
    for way in paths(chart).values():
        end = way[-1].target
        if end not in ways or len(way) < len(ways[end]):
            ways[end] = way
    offered = sorted(ways.items(), key=lambda item: not chart.states[item[0]].final)
    recorded = [_recorded()] if chart.name == "stream" else []
    return [*recorded, *(_scenario(chart, end, way) for end, way in offered)]


def _scenario(chart: Chart, end: str, way: tuple[Step, ...]) -> dict[str, Any]:
    steps = [
        {
            "event": step.event or "(at once)",
            "guard": step.row.guard,
            "row": step.row.index,
            "state": step.target,
        }
        for step in way
    ]
    name = f"shortest path to {end}"
    return {"name": name, "begin": chart.leaf_of(chart.initial), "steps": steps}


def _recorded() -> dict[str, Any]:
    lines = (HERE / "example.jsonl").read_text(encoding="utf-8").splitlines()
    begin, *states = minamo.replay(minamo.read_trace(lines)).result.states
    steps = [{"event": "", "guard": "", "row": None, "state": state} for state in states]
    return {"name": "the recorded reply docs/example.jsonl", "begin": begin, "steps": steps}


# Examples, and the texts at the top of the repository.


def examples_page() -> str:
    """Return one page with every program of examples/."""
    table = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    parts = [re.sub(r"\]\((?!\.\.)([\w/.]+)\)", lambda m: f"](#{anchor(m[1])})", table)]
    for path in sorted((ROOT / "examples").rglob("*")):
        name = path.relative_to(ROOT / "examples").as_posix()
        if path.suffix in (".py", ".yaml"):
            language = "python" if path.suffix == ".py" else "yaml"
            text = path.read_text(encoding="utf-8").strip()
            parts.append(f"({anchor(name)})=\n## {name}\n\n````{language}\n{text}\n````\n")
    page = "\n".join(parts).replace("](../docs/", "](../")
    folders = {anchor(name): target for name, target in _FOLDERS.items()}
    for folder, target in folders.items():
        page = page.replace(f"](#{folder})", f"](#{anchor(target)})")
    return page


_FOLDERS = {"quiz": "quiz/bot.py", "testing": "testing/test_bot.py"}


def anchor(name: str) -> str:
    """Return the anchor of an example on its page."""
    return "example-" + re.sub(r"\W+", "-", _FOLDERS.get(name, name)).strip("-")


def _from_top(text: str) -> str:
    """Rewrite links of a file at the top of the repository for docs/_generated."""
    text = re.sub(r"\]\(docs/", "](../", text)
    return _connected(text, "../", "")


def _connected(text: str, up: str, down: str) -> str:
    """Lead links to other files of the repository to the pages generated from them."""
    text = re.sub(r"\]\((?:\.\./)*(?:diagrams|statecharts)/(\w+)\.(?:md|svg|yaml)\)",
                  rf"]({down}charts/\1.md)", text)  # fmt: skip
    text = re.sub(r"\]\((?:\.\./)*statecharts/?\)", f"]({up}machine.md)", text)
    text = re.sub(r"\]\((?:\.\./)*examples/?(?:README\.md)?\)", f"]({down}examples.md)", text)
    text = re.sub(r"\]\((?:\.\./)*examples/([\w/.]+)\)",
                  lambda m: f"]({down}examples.md#{anchor(m[1].strip('/'))})", text)  # fmt: skip
    text = re.sub(r"\]\((?:\.\./)*README\.md\)", f"]({up}index.md)", text)
    names = "|".join(name.removesuffix(".md") for name in TEXTS)
    return re.sub(rf"\]\((?:\.\./)*({names})\.md\)", lambda m: f"]({down}{m[1].lower()}.md)", text)


def connect(_: Sphinx, name: str, source: list[str]) -> None:
    """Rewrite links of a page written by hand."""
    if not name.startswith("_generated/"):
        source[0] = _connected(source[0], "", "_generated/")


# Types in signatures: classes are known by their public names.


def _entry(target: str) -> str | None:
    """Return the documented name of a type that a signature may name by its private module."""
    module, _, short = target.rpartition(".")
    if module and not module.startswith("minamo"):
        return None
    homes = [module] if module in PACKAGES else ["minamo", *PACKAGES]
    return next((f"{home}.{short}" for home in homes if short in public_names(home)), None)


def link_types(_: Sphinx, tree: nodes.document) -> None:
    """Point types in signatures to their public entries, and leave all others as words."""
    for reference in list(tree.findall(pending_xref)):
        if reference.get("refdomain") != "py" or reference.get("reftype") != "class":
            continue
        entry = _entry(reference["reftarget"])
        words = reference["reftarget"].rpartition(".")[2]
        if entry is None:
            reference.replace_self(nodes.Text(words))
        else:
            reference["reftarget"] = entry
            reference["refspecific"] = False
            reference.children = []
            reference += nodes.Text(words)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the handlers."""
    app.connect("builder-inited", generate)
    app.connect("source-read", connect)
    app.connect("doctree-read", link_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
