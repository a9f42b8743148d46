"""The launchers, one module each: where and in what a job executes."""
