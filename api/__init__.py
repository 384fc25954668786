"""The HTTP product: a folder is a feature, a file name is a role."""
