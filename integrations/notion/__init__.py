"""The Notion service: its client, its tools and their results."""
