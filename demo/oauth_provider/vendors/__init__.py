"""What each vendor's authorization server does its own way."""
