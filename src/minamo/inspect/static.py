"""The files of the page, as they lie beside this one: read once, served from memory."""

from __future__ import annotations

from importlib.resources import files

from attrs import field, frozen

_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


@frozen(slots=True)
class PageFile:
    """One file."""

    body: bytes = field(repr=False)
    type: str


def page_files() -> dict[str, PageFile]:
    """All of them by name; there are no folders."""
    out = {}
    for one in (files("minamo.inspect") / "page").iterdir():
        kind = _TYPES.get(f".{one.name.rpartition('.')[2]}")
        if kind is not None:
            out[one.name] = PageFile(one.read_bytes(), kind)
    return out
