"""Discord's objects as JSON."""
