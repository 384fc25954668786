"""The routes about the process itself: health, metrics and the API description."""
