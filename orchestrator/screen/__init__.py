"""Text on a terminal or in a pipe: lines, tables, sheets, and streams that end no work."""
