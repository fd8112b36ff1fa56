"""Adapters, HTTP, retries, and providers without a network."""
