"""The package's I/O half: the driver, HTTP, Redis, Discord, and the public client."""
