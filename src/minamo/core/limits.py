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
# The deepest a fence in a list is looked for, and how much of a line tells a list item by.
FENCE_INDENT_MAX = 32
LIST_LEAD_MAX = 48
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

# Many small strings take more room than one; they are joined now and then.
PARTS_MAX = 256

# Taking one thing out can put another together, as in "<|im_<|im_end|>end|>".  Nobody nests
# that deeper than this by accident, and each pass reads the whole text.
CLEAN_PASSES_MAX = 4

# A leaked instruction is a note, not an essay; a longer bracket is left for the reader.
SYSTEM_LEAK_MAX = 2_000

# At most half a message may go into closing and reopening; the rest is for the text itself.
ENCLOSURES_SHARE = 2
# A zero-width break may be needed on either side of what is added.
BREAKS_MAX = 2

# Short lists of short names still hold this much, so that the hold does not tell names apart.
GUARD_HOLD_MIN = 32
# The newline in front of a label and the colon behind it.
LABEL_EDGES = 2
# "***" on both sides is the most emphasis a name can wear.
LABEL_EMPHASIS = 6
# Display names have at most 32 characters; twice that also takes in "Name (aside)".
GENERIC_LABEL_MAX = 64

# Blanks before the mark of a quote; more is not how one is written.
QUOTE_LEAD_MAX = 16

# Chances in a hundred.  Light on purpose: in most messages nothing changes but the end.
LOWER_CHANCE = 20
STOP_CHANCE = 50
DOTS_CHANCE = 30
# A full stop at the end of a line or two is stiff; at the end of a paragraph it is normal.
SHORT_MESSAGE_MAX = 80

# The longest subdivision code (Unicode's "gbsct" has five, the format allows six).  A
# longer run of tags is not a flag but a hidden message.
FLAG_TAGS_MAX = 6

# Spans are for looking at a single stream; past this many only the counts go on.
SPANS_MAX = 10_000

# Titles are rare and short; the bound keeps a text full of quotes linear.
LINK_TITLE_MAX = 256

# A label that is longer is not waited for: a lone bracket would hold a reply back.
LINK_BEGUN_MAX = 1_000

# How far back a word can begin that decides whether a full stop ends a sentence.
SENTENCE_CONTEXT = 64

# Some models begin with a few empty lines; more than this is not hesitation but output.
LEADING_BLANKS_MAX = 64

# Seven kinds of formatting can nest in each other; deeper than this only long runs of markers go.
FORMATTING_DEPTH_MAX = 12

# A code block in a desktop window with the member list open shows about this many columns;
# a wider table wraps into noise, and reads better as bullets.
TABLE_COLUMNS_MAX = 64
# A header that is longer is said once and not in every row: a small table would become a book.
TABLE_LABEL_MAX = 80

# Three messages; even a text made to be slow is fitted in less than 50 ms then.  A longer text is
# fitted by portions, each of so much of a message in a hundred: nearly two messages, of which the
# second waits for what comes after it.
FIT_MAX = 6_000
FIT_STEP = 195
# How far behind a portion closers of its formatting are looked for: as far as one message goes.
AHEAD_MAX = 2_000

# Closing quotes and markers after a full stop, at most.
SENTENCE_TAIL_MAX = 12

# Discord's own limit; emoji count twice there.
UTF16_MAX = 2000

# A year.  A longer time means "never", and a number of 400 digits does not fit into a clock.
MS_MAX = 31_536_000_000
