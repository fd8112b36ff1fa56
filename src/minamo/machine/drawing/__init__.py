"""Draw a chart as SVG: where boxes go, where arrows run, and the writing of it."""
