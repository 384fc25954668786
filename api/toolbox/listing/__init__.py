"""Listing an agent's tools, in the format of each client, and caching the lists."""
