"""What is promised to be fast, measured: `make performance`."""
