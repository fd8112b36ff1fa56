"""Every number of the wire, each with its reason.  Nothing grows without one of these."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from minamo.errors import BadRequest

# One line of a stream is one frame as JSON: a token or two, some 300 bytes.  Whole tool calls
# and search results are the long ones, and stay well below this.
LINE_BYTES_MAX = 65_536
# Everything between two frames, comments and blank lines too.
FRAME_BYTES_MAX = 1_048_576
# 200,000 tokens at 300 bytes are 60 MB; no reply that anyone reads is longer.
STREAM_BYTES_MAX = 64 * 1_048_576
FRAMES_MAX = 1_000_000
# All arguments of a reply together.  The largest we met wrote a file of 100 kB.
ARGUMENT_CHARS_MAX = 262_144
CALLS_MAX = 64
# Schemas nest five or six deep.  Code that walks arguments recursively must survive them.
ARGUMENT_DEPTH_MAX = 64

# What a provider wants to see again (signatures, reasoning); more is dropped, not cut.
REPLAY_CHARS_MAX = 262_144
# How much of an error's body is read to find that sentence.
ERROR_BYTES_MAX = 65_536

# The strictest of the three providers takes 5 MB for an image...
IMAGE_BYTES_MAX = 5 * 1_048_576
# ...and 20 MB for a request.
BODY_BYTES_MAX = 20 * 1_048_576
# What is remembered leaves room in a request for a system prompt, tools and the next messages.
CONVERSATION_BYTES_MAX = BODY_BYTES_MAX - 2 * 1_048_576
STOP_STRINGS_MAX = 16


def _positive(_: object, attribute: Attribute[int], value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadRequest(f"{attribute.name} must be a whole number above zero")


@frozen(slots=True, kw_only=True)
class WireLimits:
    """What one reply may cost; an adapter takes another set for unusual providers."""

    line_bytes_max: int = field(default=LINE_BYTES_MAX, validator=_positive)
    frame_bytes_max: int = field(default=FRAME_BYTES_MAX, validator=_positive)
    stream_bytes_max: int = field(default=STREAM_BYTES_MAX, validator=_positive)
    frames_max: int = field(default=FRAMES_MAX, validator=_positive)
    argument_chars_max: int = field(default=ARGUMENT_CHARS_MAX, validator=_positive)
    calls_max: int = field(default=CALLS_MAX, validator=_positive)
