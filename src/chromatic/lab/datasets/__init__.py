"""Data sets: the one that comes with the project."""
