"""Answers as they are kept: one line of printable text."""

from __future__ import annotations

__all__ = ["tidy"]


def tidy(text: str) -> str:
    """Return an answer on one line, without control characters and without halves of characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in whole).split())
