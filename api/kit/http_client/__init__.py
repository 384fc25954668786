"""The HTTP/1.1 client: the only code that opens connections to other hosts."""
