"""Results on their way to a model: sanitised, redacted and cut to size."""
