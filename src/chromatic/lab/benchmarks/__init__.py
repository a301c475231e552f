"""How fast, how large, against whom."""
