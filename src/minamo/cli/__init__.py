"""The `minamo` command: one small file per sub-command."""
