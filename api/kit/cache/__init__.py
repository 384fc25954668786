"""Caches: of a number of small entries, or of bounded memory that each owner has a share of."""
