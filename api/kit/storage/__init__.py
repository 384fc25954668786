"""The store port, its adapters for SQLite, PostgreSQL and DynamoDB, and the cache of what they hold."""
