"""All numeric limits of the text core, each with its reason.  Nothing grows without one."""

from __future__ import annotations

# Discord refuses a message over 2,000; 50 are spare in case its way of counting changes.
MESSAGE_LENGTH = 1_950
MESSAGE_LENGTH_MIN = 100
MESSAGE_LENGTH_MAX = 2_000

# Prose is cut here if no boundary comes: about what a user reads before the next message.
FLUSH_PROSE = 1_000
# A reader takes a fence as one unit, so it is held far longer than prose.
FLUSH_CODE = 15_000
# The window around the limit in which a better cut is searched.
WINDOW_BEFORE = 300
WINDOW_AFTER = 200

# Degree 0 keeps a whole reply.  Past this size, as much as a lane holds, the whole paragraphs of it
# are handed over: each part is cleaned in one step, which must not hold the event loop.
AGGREGATE_MAX = 8_000

# A longer tag is text.  The longest known tag, with attributes, has about 60 characters.
TAG_MAX = 256
# Depth of nested thoughts; counting stops here, so a runaway model cannot hide its whole reply.
NESTING_MAX = 16
# How much of a line is held until a backtick closes or a fence's line ends.
SPAN_HOLD = 1_000
# The deepest indent at which a fence in a list is recognised, and how much of a line is read to
# recognise a list item.
FENCE_INDENT_MAX = 32
LIST_LEAD_MAX = 48
# A fence's language and attributes; a longer first line is text, and is shown as code.
INFO_MAX = 100
# The longest run of backticks or tildes that opens or closes a fence; more is decoration.
FENCE_RUN_MAX = 64

# Thoughts and details are kept for the log, not shown; anything longer is cut off.
CAPTURE_MAX = 1_000_000

# Length of the path through the chart in a result; a reply of a thousand segments has this many.
STATES_MAX = 2_000

# A run of text is passed to the machine in parts of this size.  At most every other character can
# end a segment and a segment takes two steps, so one event stays far below the machine's own
# limit of steps.
TOKEN_MAX = 400

# Many small strings take more memory than one, so they are joined now and then.
PARTS_MAX = 256

# Removing one match can create another, as in "<|im_<|im_end|>end|>".  No text nests deeper than
# this by accident, and each pass reads the whole text.
CLEAN_PASSES_MAX = 4

# A leaked instruction is short; a longer bracket is left in the text.
SYSTEM_LEAK_MAX = 2_000

# At most half a message may be closers and reopened openers; the rest is for the text itself.
ENCLOSURES_SHARE = 2
# A zero-width break may be needed on either side of an insertion.
BREAKS_MAX = 2

# Minimum hold for short lists of short names, so that the hold does not distinguish names.
GUARD_HOLD_MIN = 32
# The newline in front of a label and the colon after it.
LABEL_EDGES = 2
# "***" on both sides is the most emphasis a name can have.
LABEL_EMPHASIS = 6
# Display names have at most 32 characters; twice that also takes in "Name (aside)".
GENERIC_LABEL_MAX = 64

# Blanks before the mark of a quote; a line with more is not a quote.
QUOTE_LEAD_MAX = 16

# Chances in percent.  Light on purpose: in most messages only the end changes.
LOWER_CHANCE = 20
STOP_CHANCE = 50
DOTS_CHANCE = 30
# A full stop at the end of a line or two is stiff; at the end of a paragraph it is normal.
SHORT_MESSAGE_MAX = 80

# The longest subdivision code (Unicode's "gbsct" has five, the format allows six).  A
# longer run of tags is not a flag but a hidden message.
FLAG_TAGS_MAX = 6

# Spans are for inspecting a single stream; past this many only the counts continue.
SPANS_MAX = 10_000

# Titles are rare and short; the bound keeps a text full of quotes linear.
LINK_TITLE_MAX = 256

# Attempts to break up the masked links of a message, each of which may uncover others; after them
# whatever looks like one is broken up, also in code.
MASKED_PASSES_MAX = 4

# A longer label is not waited for: a lone bracket would delay a reply.
LINK_BEGUN_MAX = 1_000

# How far back a word can begin that decides whether a full stop ends a sentence.
SENTENCE_CONTEXT = 64

# Some models begin with a few empty lines; more than this is output.
LEADING_BLANKS_MAX = 64

# Seven kinds of formatting can nest; only long runs of markers go deeper than this.
FORMATTING_DEPTH_MAX = 12

# Attempts to free the spoilers of a text from wrong emphasis; each takes another reading.
FREED_MAX = 3

# A code block in a desktop window with the member list open shows about this many columns;
# a wider table wraps, and reads better as bullets.
TABLE_COLUMNS_MAX = 64
# A longer header is written once and not in every row: it would inflate a small table.
TABLE_LABEL_MAX = 80
# Padding, bullets and repeated labels may take this many times the room of the table's source, or
# two messages: a column of single letters below a long header must not become dozens of messages.
TABLE_GROWTH_MAX = 2
TABLE_ADDED_MIN = 4_000

# A little more than two messages.  A text that is longer is fitted in portions of FIT_STEP percent
# of a message: two, so that a code span or token that begins in the first is seen whole; the second
# waits for the text after it.  A larger portion would take an adversarial text close to
# 50 ms on a slow computer.
FIT_MAX = 4_100
FIT_STEP = 200
# While a reply grows, so many percent of a message must be known after its first one until that is
# fitted no more: headings and tables need to see what is below them.
FIT_KNOWN = 25
# Segments fitted at once.  Each takes time of its own, and so many fill a message even if each is
# one character and a blank.
FIT_SEGMENTS_MAX = 1_000
# How far past a portion closers of its formatting are searched: the length of one message.
AHEAD_MAX = 2_000
# Closers are not searched if there are more markers than this, and more than one of so many
# characters is one.
MARKERS_MIN = 200
MARKER_SHARE_MAX = 4

# Closing quotes and markers after a full stop, at most.
SENTENCE_TAIL_MAX = 12

# Discord's own limit; emoji count twice there.
UTF16_MAX = 2000

# A year.  A longer time means "never", and a number of 400 digits does not fit into a clock.
MS_MAX = 31_536_000_000
