"""Text into messages that fit Discord and render there."""
