"""Series over time as charts: trends of many, and one with its levels, steps and verdict."""
