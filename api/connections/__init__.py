"""Connect: consent to a server's use, the tokens that come of it, and their end."""
