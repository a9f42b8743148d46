"""`replay`: one result measured again, and both side by side."""
