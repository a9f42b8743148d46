"""Words of the screen, three lines each: what `explain` and docs/words.md say."""
