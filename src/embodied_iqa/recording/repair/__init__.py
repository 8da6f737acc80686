"""Repair of recordings that were cut short or damaged."""
