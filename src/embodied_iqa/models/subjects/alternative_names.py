"""Names of several policies as one, such as ``panel-vla-query or panel-vla-side``."""

from __future__ import annotations

from typing import Final

OR: Final = " or "


def policies_in(text: str) -> tuple[str, ...]:
    """Return the policies that a reference names: several of ``A or B``, else the text alone."""
    return tuple(word.strip() for word in text.split(OR))
