"""Any bytes give events, or one broken limit; any cut of them gives the same.

Coverage-guided: ``python tests/fuzz/fuzz_sse.py -max_total_time=60`` with atheris installed.
`test_fuzz.py` runs the same check without it.
"""

from __future__ import annotations

import sys

from minamo.wire.limits import WireLimits
from minamo.wire.sse import Comment, Decoder, Oversize, SseEvent, TooLong

SMALL = WireLimits(line_bytes_max=32, frame_bytes_max=160, stream_bytes_max=256, frames_max=8)


def check(data: bytes) -> None:
    """The first byte says where to cut, the rest is a stream."""
    place, stream = (data[0] if data else 0), data[1:]
    place = place * len(stream) // 256
    for limits in (None, SMALL):
        whole = Decoder(limits).feed(stream)
        decoder = Decoder(limits)
        assert whole == [*decoder.feed(stream[:place]), *decoder.feed(stream[place:])]
        decoder = Decoder(limits)
        assert whole == [e for i in range(len(stream)) for e in decoder.feed(stream[i : i + 1])]
        assert all(isinstance(found, SseEvent | Comment | Oversize) for found in whole[:-1])
        assert decoder.over is bool(whole and isinstance(whole[-1], TooLong))


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
