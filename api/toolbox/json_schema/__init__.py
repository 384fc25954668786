"""Tool schemas: normalising them, validating arguments, and explaining what is wrong."""
