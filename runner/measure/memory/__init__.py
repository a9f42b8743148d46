"""Host memory: cgroups and processes."""
