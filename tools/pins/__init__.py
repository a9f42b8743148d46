"""Lists of what is installed, with the hash of every file: written, and checked offline."""
