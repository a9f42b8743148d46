"""What the user sees: tables, progress, errors."""
