"""Turns: replies with rounds of tools, and channels that run one turn at a time."""
