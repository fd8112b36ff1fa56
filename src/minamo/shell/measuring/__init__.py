"""Who is told how it went: figures, logs, traces, and those who look on."""
