"""The HTTP protocol of the server process: limits on what arrives, and how responses leave."""
