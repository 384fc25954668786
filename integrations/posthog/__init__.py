"""What is particular to PostHog."""
