"""A chart's picture: layout, routing and the SVG text."""
