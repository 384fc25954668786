"""The API of PostHog, with made-up data."""
