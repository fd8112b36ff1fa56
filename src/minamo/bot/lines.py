"""In which line of a TOML file a setting stands.

The standard library's reader does not tell, and a person who is told only the key of a long file
has to search for it.
"""

from __future__ import annotations

import re
from collections import Counter

from attrs import define, field

_TABLE = re.compile(r"\s*(\[{1,2})\s*([A-Za-z0-9_\-.\"' ]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-]+|\"[^\"]*\"|'[^']*')\s*=")
_LONG = ('"""', "'''")

At = tuple[str | int, ...]


@define
class Lines:
    """The places of one text."""

    text: str = field(repr=False)
    _places: dict[At, int] = field(factory=dict, init=False, repr=False)
    _keys: dict[int, str] = field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        table: At = ()
        count: Counter[str] = Counter()
        closer = ""
        for number, line in enumerate(self.text.split("\n"), 1):
            if closer:  # inside a text of several lines
                closer = "" if closer in line else closer
                continue
            if found := _TABLE.match(line):
                name = found[2].strip("\"' ")
                table = (name, count[name]) if found[1] == "[[" else (name,)
                count[name] += 1
                self._places.setdefault((name,), number)
                self._places.setdefault(table, number)
            elif found := _KEY.match(line):
                key = found[1].strip("\"'")
                self._places.setdefault((*table, key), number)
                self._keys[number] = ".".join([*(str(p) for p in table if p != 0), key])
                value = line[found.end() :].strip()
                opener = next((one for one in _LONG if value.startswith(one)), "")
                closer = opener if opener and opener not in value[3:] else ""

    def of(self, at: At) -> int | None:
        """The line of a setting, or of the table it should be in."""
        while at:
            if at in self._places:
                return self._places[at]
            at = at[:-1]
        return None

    def key_at(self, line: int) -> str:
        """The setting that stands in a line; empty if none does."""
        return self._keys.get(line, "")
