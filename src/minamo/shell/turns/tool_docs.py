"""What a docstring tells the model: prose about the tool, and a line for each parameter."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen


@frozen(slots=True)
class Documented:
    """A docstring, taken apart."""

    description: str = ""
    parameters: Mapping[str, str] = {}


def documented(docstring: str) -> Documented:
    """Read a docstring in the style of Google, NumPy or Sphinx; examples and such are left out."""
    if not docstring:
        return Documented()
    # Imported late, as jsonschema is: many bots have no tools.
    from docstring_parser import parse

    found = parse(docstring)
    prose = (found.short_description, found.long_description)
    lines = {
        name.strip(): " ".join((one.description or "").split())
        for one in found.params
        for name in one.arg_name.split(",")  # NumPy's way to document several at once
    }
    return Documented("\n\n".join(part for part in prose if part), lines)
