"""The API keys of a workspace."""
