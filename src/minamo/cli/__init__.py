"""The `minamo` command: one module per sub-command."""
