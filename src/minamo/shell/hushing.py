"""Keep webhook tokens out of hikari's logs.

hikari writes the whole path of a route at DEBUG, and the path of a webhook or of an interaction
holds its token: whoever reads such a log can speak in the channel.
"""

from __future__ import annotations

import logging
import re

# Those that name routes and buckets.
_LOGGERS = ("hikari.ratelimits", "hikari.rest")
# After the id, in a path ("/webhooks/1/…", "/interactions/1/…") and in a bucket ("1:…").
_TOKEN = re.compile(r"((?:/(?:webhooks|interactions)/\d{1,20}/)|(?:\b\d{1,20}:))[\w.=-]{16,}")


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
