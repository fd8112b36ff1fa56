"""The ready-made bot behind `minamo run`: settings in, a bot that answers out."""
