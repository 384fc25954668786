"""The API of Linear, with made-up data."""
