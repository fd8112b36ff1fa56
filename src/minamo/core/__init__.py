"""The sans-IO text core: text in, text out, with no clock, socket or log."""
