"""Where a job executes: one file per launcher."""
