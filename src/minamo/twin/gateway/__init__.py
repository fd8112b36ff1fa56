"""The gateway's side of the twin: connections, intents, members."""
