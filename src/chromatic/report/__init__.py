"""Figures of what was found."""
