"""What the runtimes of prepared graphs share: inputs, outputs, token generation."""
