"""What is particular to Slack."""
