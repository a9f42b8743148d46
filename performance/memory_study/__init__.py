"""Study of memory: batches that double until they run out, and choices that are judged by them."""
