"""Append-only journal of what people edit: its file, its records, and what follows from them."""
