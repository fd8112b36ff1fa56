"""Text in, text out: the pure part, with no clock, socket or log."""
