"""Host memory of a cell: readers of cgroup and process, and the meter over them."""
