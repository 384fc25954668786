"""A workspace's API keys: made, listed, revoked."""
