"""The end of a grant, and the queue of tokens to revoke at authorization servers."""
