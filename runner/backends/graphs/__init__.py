"""Code shared by the runtimes of prepared graphs: inputs, outputs, token generation, traces."""
