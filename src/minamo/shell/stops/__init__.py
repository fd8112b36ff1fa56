"""Stop requests: in memory, and over Redis."""
