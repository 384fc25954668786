"""Connections of servers: consent, tokens, and revocation."""
