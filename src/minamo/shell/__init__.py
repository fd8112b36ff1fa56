"""Everything that waits: the driver, HTTP, Discord, and what people touch."""
