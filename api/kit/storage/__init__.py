"""The store port, its adapters for SQLite and DynamoDB, and the cache of what they hold."""
