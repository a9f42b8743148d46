"""`verify`: whether models work and are right, without timing."""
