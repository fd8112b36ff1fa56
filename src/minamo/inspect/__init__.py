"""Look at streams: traces, replay."""
