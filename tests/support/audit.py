"""Run a text through a stream, for tests that audit it."""

from __future__ import annotations

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import Replayed, replay
from minamo.testing.audit import audit as audit
from minamo.testing.audit import fits as fits
from minamo.testing.audit import same as same
from minamo.testing.audit import shown as shown


def run(chunks: list[str], *, ending: str = "end", **settings: object) -> Replayed:
    """Stream *chunks* and let *ending* happen."""
    config = StreamConfig(**{"humanize": False, **settings})  # type: ignore[arg-type]
    moments = [Moment(0.0, "chunk", chunk=TextChunk(chunk)) for chunk in chunks]
    if ending:
        moments.append(Moment(0.0, ending))
    return replay(Trace(config, tuple(moments)))
