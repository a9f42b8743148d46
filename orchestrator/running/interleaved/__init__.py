"""Two runs whose launches take turns: a run, and the baseline that it is compared with."""
