"""A database in the forms that others read."""
