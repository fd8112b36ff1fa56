"""The hikari side: senders, webhooks, interactions and what their calls end with.

No exception of hikari and no text of one leaves this package: it can hold tokens.
"""
