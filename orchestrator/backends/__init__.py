"""The catalogue of backends, and what of them this machine has."""
