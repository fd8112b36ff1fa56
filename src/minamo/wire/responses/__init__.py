"""The dialect of OpenAI's Responses API: its requests and its reader."""
