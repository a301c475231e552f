"""The tables and figures of the paper, each an experiment (`chromatic reproduce`)."""
