"""In plain words: why characters are not shown, and why some are that nobody wrote."""

from __future__ import annotations

from collections.abc import Mapping

#: Why a character of the reply is not in the channel, by the name the ledger uses.
HIDDEN: Mapping[str, str] = {
    "marker": "A tag such as <think>. It says where text goes and is not text itself.",
    "summary": "The title of a details block. Only what is inside is kept.",
    "seam": "White space at the edge of a message. Discord would trim it too.",
    "blank": "Nothing but white space, and Discord takes no blank message.",
    "prefill_echo": "The model repeated its prefill, which is shown once.",
    "speaker_guard": "The model began to speak for somebody else; the reply ends before that.",
    "overlap": "The provider repeated the end of its last chunk.",
    "surrogate": "Half a character whose other half never came.",
    "humanize": "Left out for a human touch (degree 3).",
    "stop": "Somebody stopped the reply before this was sent.",
    "follow_up": "A newer message took this reply's place before this was sent.",
    "killed": "An operator ended the reply at once.",
    "limit": "The reply had used up what it may send or keep.",
    "undelivered": "Discord refused a message, so there was nowhere left to send this.",
    "late": "It came after the outcome was decided.",
    "clean.line_end": "CR and CRLF are written as a line feed.",
    "clean.invisible": "A character that nobody can see and that can hide things.",
    "clean.template": "A mark of the model's chat template that leaked.",
    "clean.system_leak": "A leaked instruction in brackets.",
    "clean.own_name": "The bot's own name as a label in front of the reply.",
    "clean.blank_lines": "One blank line is enough.",
    "clean.masked_link": "Rewritten so that the reader sees where a link leads.",
    "clean.mention": "Replaced by a real mention.",
    "clean.fence": "Written as Discord's own three backticks, or an empty fence at the end.",
    "clean.table": "Discord draws no tables; this one was redrawn.",
    "suppress_text_output": "This stream shows nothing on purpose; the text is in its result.",
    "cancelled": "The program around the stream was cancelled.",
    "closed": "The bot was shutting down.",
    "spans": "The books of this stream are full; only the counts went on.",
    "unknown": "The books do not say. That would be a fault: please report it with the trace.",
}

#: Why a character is in the channel that the model did not write.
ADDED: Mapping[str, str] = {
    "closer": "Closes formatting that would run into the next message.",
    "reopened": "Opens again what the message before had to close.",
    "header": "The head of a table, repeated because it was cut in two.",
    "fence": "Discord's own three backticks, in place of another fence.",
    "table": "Part of the drawing of a table.",
    "break": "A zero-width break, so that backticks inside code do not end it.",
    "reworded": "Put in by cleaning, by the prefill, or for a human touch.",
    "clean.line_end": "A line feed in place of a CR.",
    "clean.masked_link": "So that the reader sees where a link leads.",
    "clean.mention": "A real mention, from the map of names.",
}

#: What it means to be in a place that needs no further reason.
PLACES: Mapping[str, str] = {
    "message": "It is part of the reply.",
    "thought": "Kept as a thought; thoughts are never shown in the channel.",
    "details": "Kept as details, for memory; they are not shown in the channel.",
    "held": "Not decided yet: it waits for the characters that follow.",
    "growing": "Not final yet: this reply grows in place, and the channel may show this already.",
    "open": "Inside a block that is still open.",
    "future": "It had not come yet at this step.",
}
