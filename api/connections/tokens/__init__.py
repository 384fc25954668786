"""Access tokens: finding a valid one, refreshing it once per generation, storing it encrypted."""
