"""What every encoder should hold to, as checks for encoders of your own."""
