"""The wire: bodies in, answers out, and the description of both."""
