"""The annotated database: what is in it, how it is built, checked and read."""
