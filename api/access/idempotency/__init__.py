"""`Idempotency-Key`: a repeated POST gets the first response and happens once."""
