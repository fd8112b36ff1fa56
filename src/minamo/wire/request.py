"""The request an adapter sends.

A request holds a key and a person's words, so its `repr` shows neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


def _names(headers: Mapping[str, str]) -> str:
    return f"<{', '.join(sorted(headers))}>"


@frozen(slots=True)
class Request:
    """One HTTP request, complete but for the connection it goes over."""

    url: str
    headers: Mapping[str, str] = field(factory=dict, repr=_names)
    body: bytes = field(default=b"", repr=lambda body: f"<{len(body)} bytes>")
    model: str = ""
    method: str = "POST"
