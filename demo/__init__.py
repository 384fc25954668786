"""Servers to try Plugboard with, without an account anywhere; the tests use them too."""
