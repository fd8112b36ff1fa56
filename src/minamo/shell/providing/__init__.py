"""Where replies come from: the adapters, HTTP, retries, scripts."""
