"""Every number of the text core, each with its reason.  Nothing grows without one of these."""

from __future__ import annotations

# Discord refuses a message over 2,000; 50 are left for a changed way of counting.
MESSAGE_LENGTH = 1_950
MESSAGE_LENGTH_MIN = 100
MESSAGE_LENGTH_MAX = 2_000

# Prose is cut here when no boundary comes: about what one wants to read before the next arrives.
FLUSH_PROSE = 1_000
# A fence is one thing to its reader, so it waits far longer than prose.
FLUSH_CODE = 15_000
# Where around the limit a better place to cut is looked for.
WINDOW_BEFORE = 300
WINDOW_AFTER = 200

# Degree 0 keeps a whole reply.  Past this it is handed over all the same: some 100 messages,
# more than any reply that anyone reads.
AGGREGATE_MAX = 200_000

# A tag longer than this is text.  The longest we know, with attributes, has about 60.
TAG_MAX = 256
# Thoughts in thoughts; the count stops here, so that a runaway model cannot hide its whole reply.
NESTING_MAX = 16
# How much of a line is held to see whether a backtick closes, or a fence's line ends.
SPAN_HOLD = 1_000
# The longest run of backticks or tildes that opens or closes a fence; more is decoration.
FENCE_RUN_MAX = 64

# Thoughts and details are kept for the log, not shown; one that is longer is cut off.
CAPTURE_MAX = 1_000_000

# The way through the chart that a result tells; a reply of a thousand segments has this many.
STATES_MAX = 2_000

# A run of text is given to the machine in parts of this size.  Each character can end a segment
# at most every other time and a segment takes two steps, so one event stays far below the
# machine's own limit of steps.
TOKEN_MAX = 400
