"""The PostHog service: its manifest, its API client and its tools."""
