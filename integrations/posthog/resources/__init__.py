"""The tools for each kind of PostHog resource, and the one for every other endpoint."""
