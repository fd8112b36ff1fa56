"""Characters into segments: filters, markers, boundaries."""
