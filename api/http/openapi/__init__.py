"""The OpenAPI document and its page for people, generated from the routes."""
