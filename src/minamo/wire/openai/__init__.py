"""The dialect of OpenAI-compatible chat completions."""
