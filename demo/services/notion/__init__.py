"""The API of Notion, with made-up data."""
