"""Learners on encoded rows, and one way to compare them."""
