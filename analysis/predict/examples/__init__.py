"""Examples to learn from: cells on devices with counted work, and what was measured there."""
