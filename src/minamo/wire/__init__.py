"""Pure: what providers are sent and what they say, in bytes and in chunks."""
