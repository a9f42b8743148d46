"""Charts: one description of a drawing for pages, PNG and SVG."""
