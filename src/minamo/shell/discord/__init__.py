"""The hikari adapters: senders, webhooks, interactions and the outcomes of their calls.

No hikari exception and no text of one leaves this package: it can contain tokens.
"""
