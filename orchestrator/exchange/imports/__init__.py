"""Import of other benchmarks' results: formats, readings, records, removal of the files."""
