"""What is run and shown: the demo."""
