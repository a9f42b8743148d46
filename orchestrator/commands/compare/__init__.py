"""`compare`: results side by side, by one property or run by run."""
