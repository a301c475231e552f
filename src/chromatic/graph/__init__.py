"""The co-occurrence graph, for study and for guarantees."""
