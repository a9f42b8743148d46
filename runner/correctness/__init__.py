"""Compare outputs with the fp32 reference."""
