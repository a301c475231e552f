"""From colors to columns: one module for each encoding, and what they share."""
