"""Logs, figures and observers of streams."""
