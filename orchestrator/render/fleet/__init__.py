"""A fleet on a terminal."""
