"""From a matrix to a plan and a schedule."""
