"""How messages get to Discord: lanes, pacing, receipts, and what kinds of messages there are."""
