"""Markdown and Notion's blocks: each is made from the other."""
