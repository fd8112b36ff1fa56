"""Hikari behind the senders of delivery: no hikari exception, and no text of one, leaves it."""
