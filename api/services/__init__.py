"""The list of available services."""
