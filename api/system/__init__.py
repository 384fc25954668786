"""The system about itself: is it alive, is it ready, what does it take and answer."""
