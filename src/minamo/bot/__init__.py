"""The ready-made bot behind `minamo run`, configured by a settings file and the environment."""
