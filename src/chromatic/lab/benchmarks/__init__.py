"""How fast, and with how much memory, beside others on the same rows (`chromatic benchmark`)."""
