"""The credentials that a request to an upstream carries."""
