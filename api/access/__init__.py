"""Authentication of callers, and their rights in a workspace."""
