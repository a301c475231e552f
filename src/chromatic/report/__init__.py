"""The HTML report of a model, and plots."""
