"""Envelope encryption: secrets, data keys, root keys."""
