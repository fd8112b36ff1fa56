"""Transport compression of the gateway: one stream per connection, flushed after each message."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

Squeeze = Callable[[bytes], bytes]


def squeezer(name: str | None) -> Squeeze | None:
    """The compressor a client asked for in its URL; `None` means text frames.

    A compression that is not known, or that this Python has no module for, is left out: every
    client reads text frames as well.
    """
    if name == "zlib-stream":
        return _zlib()
    if name == "zstd-stream":
        return next((made for module in _ZSTD if (made := _zstd(module))), None)
    return None


def _zlib() -> Squeeze:
    stream = zlib.compressobj()
    return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


# In the standard library since 3.14, before that one of two packages.
_ZSTD = ("compression.zstd", "backports.zstd", "zstandard")


def _zstd(name: str) -> Squeeze | None:
    try:
        module: Any = import_module(name)
    except ModuleNotFoundError:
        return None
    if name == "zstandard":
        older = module.ZstdCompressor().compressobj()
        block = module.COMPRESSOBJ_FLUSH_BLOCK
        return lambda data: bytes(older.compress(data) + older.flush(block))
    stream, flush = module.ZstdCompressor(), module.ZstdCompressor.FLUSH_BLOCK
    return lambda data: bytes(stream.compress(data, flush))
