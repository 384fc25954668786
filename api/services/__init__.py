"""Which services there are, and what each needs."""
