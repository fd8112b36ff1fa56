"""Size limits of requests and responses, each with its reason.  Every buffer has one."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from minamo.errors import BadRequest

# One line of a stream is one frame as JSON: a token or two, about 300 bytes.  Tool calls sent
# whole, search results and encrypted reasoning reach some 100 kB, and an inline picture megabytes.
# In base64 a picture of 9 MB, nearly the largest that Discord takes, has 12.
LINE_BYTES_MAX = 12 * 1_048_576
# All bytes between two frames, including comments and blank lines: one line, and room for more.
FRAME_BYTES_MAX = LINE_BYTES_MAX + 1_048_576
# 200,000 tokens at 300 bytes are 60 MB; no reply meant for a reader is longer.
STREAM_BYTES_MAX = 64 * 1_048_576
FRAMES_MAX = 1_000_000
# All arguments of a reply together.  The largest observed wrote a file of 100 kB.  In one line
# they fit even if every character is escaped.
ARGUMENT_CHARS_MAX = 262_144
CALLS_MAX = 64
# Schemas nest five or six deep.  Code that walks arguments recursively must survive them.
ARGUMENT_DEPTH_MAX = 64

# Data that the provider wants back (signatures, reasoning); more is dropped, not truncated.  It
# fits a line, and a dozen of it fit a request.
REPLAY_CHARS_MAX = 1_048_576
# A provider's own tools pause a reply after about ten steps.  More pauses than this are a loop.
PAUSES_MAX = 8
# How much of an error response is read to find its message.
ERROR_BYTES_MAX = 65_536

# More than this is decoded elsewhere than in the event loop: a picture of 9 MB takes some 20 ms,
# which is 0.5 ms for this many bytes, and the way to a thread and back takes 0.1.
HEAVY_BYTES = 262_144
# How much is kept of a response that is no event stream: a reply sent whole, with a picture.
REPLY_BYTES_MAX = LINE_BYTES_MAX
# Pictures and sounds in one reply.
FILES_MAX = 16

# The strictest of the three providers accepts 5 MB for an image...
IMAGE_BYTES_MAX = 5 * 1_048_576
# ...and 20 MB for a request.
BODY_BYTES_MAX = 20 * 1_048_576
# History is kept below this, leaving room for a system prompt, tools and the next messages.
CONVERSATION_BYTES_MAX = BODY_BYTES_MAX - 2 * 1_048_576
# What Discord lets everyone upload; as base64 it fits a request.
FILE_BYTES_MAX = 10 * 1_048_576
# How much of a text file is downloaded: more than a model is shown of it.
TEXT_BYTES_MAX = 1_048_576
STOP_STRINGS_MAX = 16


def _positive(_: object, attribute: Attribute[int], value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadRequest(f"{attribute.name} must be a whole number above zero")


@frozen(slots=True, kw_only=True)
class WireLimits:
    """The limits of one reply; pass another set to an adapter for unusual providers."""

    line_bytes_max: int = field(default=LINE_BYTES_MAX, validator=_positive)
    frame_bytes_max: int = field(default=FRAME_BYTES_MAX, validator=_positive)
    stream_bytes_max: int = field(default=STREAM_BYTES_MAX, validator=_positive)
    frames_max: int = field(default=FRAMES_MAX, validator=_positive)
    argument_chars_max: int = field(default=ARGUMENT_CHARS_MAX, validator=_positive)
    calls_max: int = field(default=CALLS_MAX, validator=_positive)
