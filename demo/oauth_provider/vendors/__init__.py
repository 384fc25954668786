"""The authorization servers of the vendors, each with its own rules."""
