"""Any text, cut anywhere, at any degree, keeps the laws of a stream: lexer, segmenter, fit.

Coverage-guided: ``python tests/fuzz/fuzz_text.py -max_total_time=60`` with atheris installed.
`test_fuzz.py` runs the same check without it.
"""

from __future__ import annotations

import sys

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.trace import Moment, Trace
from minamo.testing import check_stream

TABLES = ("code", "bullets", "raw")


def check(data: bytes) -> None:
    """The first byte gives the settings, the second where to cut, the rest is the text."""
    if len(data) < 2:
        return
    how, text = data[0], data[2:].decode("utf-8", "surrogateescape")
    place = data[1] * len(text) // 256
    config = StreamConfig(
        degree=how % 4,
        tables=TABLES[how // 4 % 3],
        max_message_length=100 if how & 64 else 1950,
        flush_buffer_size=40 if how & 128 else 1_000,
        humanize=bool(how & 32),
    )
    said = (text[:place], text[place:])
    chunks = [Moment(0.0, "chunk", chunk=TextChunk(part)) for part in said]
    check_stream(Trace(config, (*chunks, Moment(0.0, "end"))))


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
