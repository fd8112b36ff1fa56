"""The dialect of Anthropic messages."""
