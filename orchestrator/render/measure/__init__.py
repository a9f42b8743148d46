"""Plans, progress and verifications on a terminal."""
