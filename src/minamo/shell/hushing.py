"""Keep the tokens of webhooks and interactions out of hikari's logs.

hikari writes the whole path of a route at DEBUG, and every body and gateway event at its own level
below that.  Whoever reads a token in such a log can speak in the channel.
"""

from __future__ import annotations

import logging
import re

# A bot with more shards than this in one process has other worries.
_SHARDS_MAX = 64
# Those that name routes and buckets or show bodies; each shard has a logger of its own.
_LOGGERS = (
    "hikari.ratelimits",
    "hikari.rest",
    *(f"hikari.gateway.{shard}" for shard in range(_SHARDS_MAX)),
)
# After the id, in a path ("/webhooks/1/…", "/interactions/1/…") and in a bucket ("1:…"); and in
# JSON, under its name.
_TOKEN = re.compile(
    r"(/(?:webhooks|interactions)/\d{1,20}/|\b\d{1,20}:|\"token\":\s?\")[\w.=-]{16,}"
)


def _hush(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    hushed = _TOKEN.sub(r"\1***", said)
    if hushed != said:
        record.msg, record.args = hushed, ()
    return True


def hush() -> None:
    """Do so from now on; doing it twice is the same."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hush)
