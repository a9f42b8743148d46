"""Results and what is done with them on a terminal."""
