"""Messages on their way: lanes, pacing, receipts, edit in place. Knows no Discord client."""
