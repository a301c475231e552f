"""Data: the names that come with the project, the paper's sets, and synthetic rows in their shape."""
