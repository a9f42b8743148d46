"""A plan measured by the hosts of a fleet."""
