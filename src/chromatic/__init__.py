"""chromatic: a few hundred meaningful columns from millions of sparse features."""

__version__ = "0.1.0"
