"""The demo: a local Discord, a scripted model and the bot between them."""
