"""What a user can ask for: one use case a module, each returns a frozen value."""
