"""The Linear service: its client, its tools and their results."""
