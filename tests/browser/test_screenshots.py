"""The pictures in the documentation can be taken anew at any time."""

from __future__ import annotations

import struct
import zlib

import pytest

from browser.screenshots import DESK, PHONE, take_all

pytestmark = pytest.mark.anyio

SIZES = {"page": DESK, "page-dark": DESK, "travel": DESK, "phone": PHONE, "why": None}
# A picture is read over a network, and kept in the repository for ever.
BYTES_MAX = 300_000


def read_png(data: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height, and the rows as they are stored."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    raw = zlib.decompress(packed)
    step = len(raw) // height
    return width, height, [raw[n * step : (n + 1) * step] for n in range(height)]


async def test_the_pictures_are_taken(browser, tmp_path):
    await take_all(browser, tmp_path, pace=0.3)
    assert {one.stem for one in tmp_path.iterdir()} == set(SIZES)
    for name, wanted in SIZES.items():
        data = (tmp_path / f"{name}.png").read_bytes()
        width, height, rows = read_png(data)
        if wanted is not None:
            assert (width, height) == (wanted["width"], wanted["height"]), name
        assert min(width, height) > 300, name
        assert len(data) < BYTES_MAX, name
        assert len(set(rows)) > height / 4, f"{name} is blank"
