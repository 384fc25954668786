"""The Slack service: its client, its tools and their results."""
