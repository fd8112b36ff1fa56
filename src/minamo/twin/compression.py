"""Transport compression of the gateway: one stream per connection, flushed after each message."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

Squeeze = Callable[[bytes], bytes]


def squeezer(name: str | None) -> Squeeze | None:
    """The compressor a client asked for in its URL; `None` means text frames."""
    if name is None:
        return None
    if name == "zlib-stream":
        return _zlib()
    if name == "zstd-stream":
        return _zstd(_zstd_module())
    raise ValueError(f"the gateway knows no compression {name!r}")


def _zlib() -> Squeeze:
    stream = zlib.compressobj()
    return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


def _zstd(module: Any) -> Squeeze:
    stream = module.ZstdCompressor()
    flush = module.ZstdCompressor.FLUSH_BLOCK
    return lambda data: bytes(stream.compress(data, flush))


def _zstd_module() -> Any:
    # In the standard library since 3.14, before that a package of its own.
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise ValueError("this Python has no zstd; `backports.zstd` brings it")
