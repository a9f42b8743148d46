"""A fleet: one plan over many hosts. Orders go there, frames come back."""
