"""The words of what other rooms know, for people."""
