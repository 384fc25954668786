"""The HTTP layer: requests, responses, and their description in OpenAPI."""
