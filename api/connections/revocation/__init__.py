"""How a grant ends, and the queue of tokens still to be revoked at authorization servers."""
