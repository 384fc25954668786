"""The API of Slack, with made-up data."""
