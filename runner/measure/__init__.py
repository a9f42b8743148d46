"""How things are measured: one file each."""
